"$SARDONYX" run linear.onnx --output
echo $?
"$SARDONYX" run linear.onnx --random --json
echo $?
"$SARDONYX" run linear.onnx --output= --random 1
echo $?
"$SARDONYX" inspect linear.onnx --stage=
echo $?
"$SARDONYX" ops --json=yes
echo $?
