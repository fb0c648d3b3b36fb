"$SARDONYX" inspect data.onnx --stage shape --dim n=5 --json | tee out.json
"$PYTHON" -m json.tool out.json > /dev/null && echo "valid JSON"
