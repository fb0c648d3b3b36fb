# Control characters reach no terminal.
"$SARDONYX" inspect names.onnx --nodes
