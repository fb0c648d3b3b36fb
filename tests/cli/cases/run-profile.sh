"$SARDONYX" run linear.onnx --input x=x.npy --repeat 3 --profile trace.json
"$SARDONYX" run branches.onnx --random 1 --dim n=4 --profile branches.json 2> /dev/null
"$PYTHON" - <<'CHECK'
import json
trace = json.load(open("trace.json"))
steps = [e for e in trace["traceEvents"] if e["ph"] == "X"]
runs = {e["args"]["run"] for e in steps}
print(sorted(runs), {e["args"]["operator"] for e in steps}, {e["name"] for e in steps})
rows, columns = map(int, steps[0]["args"]["shape"][len("float32["):-1].split(","))
print({e["args"]["flop"] == 2 * rows * columns * 3 for e in steps})
print({e["args"]["bytes"] == 4 * (rows * 3 + 3 * 2 + 2 + rows * columns) for e in steps})
print(all("kernel" in e["args"] for e in steps))
# Steps follow one another, and their times add up to no more than there was.
print(all(a["ts"] + a["dur"] <= b["ts"] + 1e-3 for a, b in zip(steps, steps[1:])))
print(0 < sum(e["dur"] for e in steps) <= steps[-1]["ts"] + steps[-1]["dur"] + 1e-3)
# A branch lies within the time of its If.
inner, outer = [e for e in json.load(open("branches.json"))["traceEvents"] if e["ph"] == "X"]
print(outer["args"]["operator"], inner["args"]["graph"] > 0, outer["ts"] <= inner["ts"],
      inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 1e-3)
CHECK
"$SARDONYX" run linear.onnx --input x=x.npy --profile no/such/folder.json > /dev/null
