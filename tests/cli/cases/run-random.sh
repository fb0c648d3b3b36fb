# The same seed gives the same numbers, another one others.
"$SARDONYX" run linear.onnx --random 7 --dim batch=2 --output a
"$SARDONYX" run linear.onnx --random 7 --dim batch=2 --output b --threads 1 2> /dev/null
"$SARDONYX" run linear.onnx --random 8 --dim batch=2 --output c 2> /dev/null > /dev/null
"$PYTHON" "$HERE/npy_equal.py" a/y.npy b/y.npy
cmp -s a/y.npy c/y.npy || echo "another seed, other numbers"
"$SARDONYX" run linear.onnx --random 7 --repeat 3 --dim batch=2 > /dev/null
"$SARDONYX" run grow.onnx --random 1 --dim past=3 2> /dev/null
"$SARDONYX" run words.onnx --random 1 2> /dev/null
"$SARDONYX" run open.onnx --random 1 --dim x.0=3 2> /dev/null | sed 's/  min.*//'
