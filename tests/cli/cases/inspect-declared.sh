# What the file says beside what the operators make.
"$SARDONYX" inspect declared.onnx --stage shape
"$SARDONYX" inspect declared.onnx --stage shape --json | grep -e declared -e contradicted
