# Whole processes: the engine's own, and commands; one that fails is not timed.
"$SARDONYX" bench linear.onnx --what program --warmup 0 --time 0 --rounds 3 --json out.json \
    --command 'copy=cp linear.onnx copied.onnx' --command no=false --command 'none=./nowhere' > out.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
ls copied.onnx
# A command that names {model} is one for each model and compared within it.
cp linear.onnx other.onnx
"$SARDONYX" bench linear.onnx other.onnx --what program --packed --warmup 0 --time 0 --rounds 3 \
    --command 'inspect='"'$SARDONYX'"' inspect {model}' --json out.json > out2.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
grep '^Comparison' out2.txt
sed -n '/^average of/,/^$/p' out.txt | sed 's/  .*//'
