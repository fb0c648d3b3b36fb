"$SARDONYX" inspect
echo $?
"$SARDONYX" run --random 1
echo $?
"$SARDONYX" inspect linear.onnx data.onnx
echo $?
"$SARDONYX" run linear.onnx data.onnx
echo $?
"$SARDONYX" test
echo $?
"$SARDONYX" ops Relu
echo $?
