# Names and files may hold a '='.
cp flat.npy a=b.npy
"$SARDONYX" run two.onnx --input x=a=b.npy --input x=1=flat.npy --output results 2> /dev/null
"$PYTHON" "$HERE/npy_equal.py" results/sum.npy want_sum.npy
