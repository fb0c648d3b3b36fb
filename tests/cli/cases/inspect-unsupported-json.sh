"$SARDONYX" inspect unsupported.onnx --stage plan --json 2> /dev/null | tee out.json
echo "${PIPESTATUS[0]}"
"$PYTHON" -m json.tool out.json > /dev/null && echo "valid JSON"
