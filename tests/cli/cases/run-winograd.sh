# The way of a 3x3 convolution, with the switch and without; the results are close.
"$SARDONYX" run conv3.onnx --random 1 --profile on.json --output on > /dev/null 2>&1
"$SARDONYX" run conv3.onnx --random 1 --winograd off --profile off.json --output off > /dev/null 2>&1
"$SARDONYX" run conv3.onnx --random 1 --winograd on --output again > /dev/null 2>&1
echo "on: $(grep -o winograd on.json | head -1), off: $(grep -o winograd off.json | head -1)"
cmp on/y.npy again/y.npy && echo "on is the default"
"$PYTHON" - <<'PY'
import numpy
a, b = numpy.load("on/y.npy"), numpy.load("off/y.npy")
print("close" if numpy.abs(a - b).max() < 1e-4 * numpy.abs(b).max() else "far off")
PY
"$SARDONYX" run conv3.onnx --random 1 --winograd maybe
