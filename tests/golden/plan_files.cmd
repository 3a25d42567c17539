# Plan files broken by hand, one way at a time: one line each, exit code 4.
toy=cases/toy/model_train.onnx
sactag plan $toy --fqn output -o plan.json
n=0
broken()
{
    n=$((n + 1))
    if cmp -s plan.json "$n.json"; then echo "$n is not broken"; fi
    for command in "diff $n.json $toy" "apply $toy $n.json -o out.onnx"; do
        code=0
        sactag $command 2> err || code=$?
        [ $code -eq 4 ] || echo "sactag $command: exit $code"
        [ "$(wc -l < err)" -eq 1 ] || echo "sactag $command: $(wc -l < err) lines"
    done
    cat err
}
with() # sed's command
{
    sed "$1" plan.json > $((n + 1)).json
    broken
}
with '1s/{/[/'
with '2s/,$//'
with '2s/"plan"/"plam"/'
with '3s/1/2/'
with '3s/1/1.0/'
with '4s/"digest": "/&x/'
with '5s/"match"/"mach"/'
with '5s/"exact"/"exactly"/'
with '5s/\["output"\]/"output"/'
with '5s/"strict": false/"strict": "false"/'
with '5d'
with '$d'
with '/"rows"/s/rows/row/'
with '/"index": 3/s/"index": 3/"index": "3"/'
with '/"index": 3/s/"index": 3/"index": -1/'
with '/"index": 3/s/"index": 3/"index": 1/'
with '/"index": 3/s/"policy": "[a-z]*"/"policy": "keep"/'
with '/"index": 3/s/"policy": "[a-z]*"/"policy": "none"/'
with '/"index": 3/s/"policy": "[a-z]*", //'
with '/"index": 3/s/"policy": "[a-z]*"/&, &/'
with '/"index": 3/s/"block": "layers.0"/"block": null/'
with '/"index": 3/s/"call": 0/"call": null/'
with '/"index": 3/s/"rhs": "/&x/'
with '/"index": 3/s/"evidence": "param"/"evidence": "hearsay"/'
with '/"index": 3/s/"node": "/&\\\\q/'
with '/"index": 3/s/"node": "/&\\q/'
with '/"index": 3/s/"node": "/&	/'
with '/"index": 3/s/}/]/'
head -c 700 plan.json > 29.json; broken
printf '{"a": %s' "$(printf '%5000s' | tr ' ' '[')" > 30.json; broken
: > 31.json; printf '{' > 31.json; broken
printf '\357\273\277 {"sactag": "plan", "version": 1}' > 32.json; broken
test ! -e out.onnx
