"$SARDONYX" run linear.onnx --input x=x.npy --output results --json | tee out.json
"$PYTHON" -m json.tool out.json > /dev/null && echo "valid JSON"
