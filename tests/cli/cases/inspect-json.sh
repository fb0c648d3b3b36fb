"$SARDONYX" inspect linear.onnx --json --nodes --values --dim batch=4 | tee out.json
"$PYTHON" -m json.tool out.json > /dev/null && echo "valid JSON"
