# Against a baseline: the same, ten times as fast as now, ten times as slow as now.
bench() { "$SARDONYX" bench linear.onnx --warmup 0 --time 0 --rounds 5 "$@"; }
bench --save base.json > /dev/null
for factor in 0.001 1000; do
    "$PYTHON" - "$factor" <<'PYTHON'
import json, sys
data = json.load(open("base.json"))
time = data["cases"][0]["metrics"]["time"]
time["samples"] = [float(sys.argv[1]) * t for t in time["samples"]]
json.dump(data, open("changed.json", "w"))
PYTHON
    bench --compare changed.json --fail-if slower:5% > out.txt
    echo "exit $?"
    grep -A 4 '^Since' out.txt
    bench --compare changed.json > /dev/null
    echo "without --fail-if: exit $?"
done
"$SARDONYX" bench linear.onnx --batch 7 --warmup 0 --time 0 --rounds 3 --compare base.json > /dev/null
echo "exit $?"
