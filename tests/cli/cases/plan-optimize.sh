# Planned at two levels: at level 0 every node is a step.
"$SARDONYX" plan conv3.onnx --optimize 0 | grep ^steps
"$SARDONYX" plan conv3.onnx --optimize 0 --json | "$PYTHON" -m json.tool > /dev/null && echo "valid JSON"
"$SARDONYX" plan conv3.onnx --optimize 4
