# Reading and making ready, with the memory of both.
"$SARDONYX" bench linear.onnx --what load --warmup 0 --time 0 --memory 0 --rounds 3 --json - > out.json
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
