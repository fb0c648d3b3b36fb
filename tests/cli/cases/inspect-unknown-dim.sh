"$SARDONYX" inspect grow.onnx --dim future=1
echo $?
"$SARDONYX" inspect half.onnx --dim n=1
echo $?
"$SARDONYX" run linear.onnx --random 1 --dim batches=1
