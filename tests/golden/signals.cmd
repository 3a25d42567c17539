# A signal ends the program as it ends any other, and leaves nothing behind.
exec 4>&2 2>/dev/null # what the shell itself says of signals does not matter
for sig in TERM HUP; do
    mkfifo in.fifo
    sactag tag in.fifo -o out.onnx 2>&4 &
    exec 3> in.fifo # returns once the program has opened it
    head -c 1000 cases/toy/model_train.onnx >&3
    kill -$sig $!
    wait $! || echo "exit $?"
    exec 3>&-
    rm in.fifo
done
# nobody reads the output: no message
sactag plan cases/llama_gqa/model_train.onnx --format json 2>&4 | true
ls -A
