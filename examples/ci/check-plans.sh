#!/bin/sh
# Does every model still decide what its golden plan says? NAME.plan.json is the golden of ../NAME.onnx and holds the options that
# it was made with. Prints the differences; exit 0: none, 1: some, 2 or more: trouble. SACTAG in the environment may name the program.
cd "$(dirname "$0")" || exit 2
status=0
for golden in *.plan.json; do
    ${SACTAG:-sactag} diff "$golden" "../${golden%.plan.json}.onnx" --merge
    code=$?
    [ $code -le $status ] || status=$code
done
exit $status
