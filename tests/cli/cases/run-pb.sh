"$SARDONYX" run linear.onnx --input x=x.pb --output results --format pb 2> /dev/null
"$PYTHON" -c 'import onnx
tensor = onnx.load_tensor("results/y.pb")
print(tensor.name, onnx.numpy_helper.to_array(tensor).tolist())'
