# The nodes after the passes and where they come from; what one pass did.
"$SARDONYX" inspect written_out.onnx --stage optimized | grep -v "^ .* [01]  "
"$SARDONYX" inspect written_out.onnx --stage optimized | grep " identity "
"$SARDONYX" inspect written_out.onnx --stage optimized --optimize 1 | tail -3
"$SARDONYX" inspect written_out.onnx --stage optimized --json | sed -n '/"nodes"/,$p'
