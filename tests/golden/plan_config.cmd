# A file says the same as options; lists add up, of the rest the command line's counts.
cat > policy.conf <<'X'
# the policy of our run
fqn   = moe.router.gate     # the router
blocks= layers.*

match = exact
strict
specialize = no
carrier = popart
X
sactag plan cases/toy/model_train.onnx --config policy.conf
printf 'force-recompute-mm-shapes-by-fqns = gate\nmatch = exact\nforce-shape = 32x64\r\n' > other.conf
sactag plan cases/toy/model_train.onnx --config other.conf --match substring --fqn output
printf '\357\273\277fqn = output' | sactag plan cases/toy/model_train.onnx --config - --format tsv
sactag tag cases/toy/model_train.onnx -o out.onnx --config policy.conf
sactag plan out.onnx --dump-ir | grep -c MatMul
