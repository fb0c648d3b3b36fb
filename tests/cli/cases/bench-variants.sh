# Exports of the same model share rounds and inputs; each is over the first. Packed files, too.
mkdir fixed
cp linear.onnx fixed/linear.onnx
"$SARDONYX" bench linear.onnx fixed/linear.onnx --variants --packed --batch 1,2 --warmup 0 --time 0 --rounds 3 \
    --json out.json > out.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
"$SARDONYX" bench linear.onnx --what load --packed --threads 1,2 --warmup 0 --time 0 --memory 0 --rounds 3 \
    --json out.json > out.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
for arguments in '--variants --what load' '--batch 1,2 --what load'; do
    # shellcheck disable=SC2086
    "$SARDONYX" bench linear.onnx $arguments
    echo "exit $?"
done
