# Without sizes, with one of two, with both; an If inside.
"$SARDONYX" inspect data.onnx --stage shape
"$SARDONYX" inspect data.onnx --stage shape --dim n=5
"$SARDONYX" inspect data.onnx --stage shape --dim n=5 --dim "m*2=4"
"$SARDONYX" inspect grow.onnx --stage=shape --dim=past=7
"$SARDONYX" inspect branches.onnx --stage shape --nodes
