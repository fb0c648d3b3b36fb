# Other engines through the protocol: one that agrees, one that does not, one that is not installed, one
# that dies, one that hangs, one that is not there at all.
mkdir peers
"$PYTHON" "$HERE/bench_peers.py" peers
"$SARDONYX" bench linear.onnx --batch 2 --warmup 0 --time 0 --rounds 3 --peers peers \
    --against good,wrong,near,absent,dies,nowhere,strict --optimize 3,1 --json out.json > out.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
"$SARDONYX" bench linear.onnx --what load --warmup 0 --time 0 --memory 0 --rounds 3 --peers peers \
    --against good --json out.json > out.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
"$SARDONYX" bench linear.onnx --what program --warmup 0 --time 0 --rounds 3 --peers peers \
    --against good,wrong --json out.json > out.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
"$SARDONYX" bench linear.onnx --warmup 0 --time 0 --rounds 3 --peers peers --against hangs --timeout 1.5 \
    --json out.json > out.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
"$SARDONYX" bench linear.onnx --what program --warmup 0 --time 0 --rounds 3 --peers peers --against hangs \
    --command "sleeps=sh -c \"sleep 77.$$; true\"" --timeout 3 --json out.json > out.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
pgrep -f "sleep 77[.]$$" || echo 'nothing is left'
