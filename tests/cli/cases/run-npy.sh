# What is written, NumPy reads.
"$SARDONYX" run linear.onnx --input x=x.npy --output results 2> /dev/null
"$PYTHON" "$HERE/npy_equal.py" results/y.npy want_linear.npy
