# Whole processes: the engine's own, and commands; one that fails is not timed.
"$SARDONYX" bench linear.onnx --what program --warmup 0 --time 0 --rounds 3 --json out.json \
    --command 'copy=cp linear.onnx copied.onnx' --command no=false --command 'none=./nowhere' > out.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
ls copied.onnx
sed -n '/^average of/,/^$/p' out.txt | sed 's/  .*//'
