"$SARDONYX" run linear.onnx --random 1
echo $?
"$SARDONYX" run no_rank.onnx --random 1
echo $?
"$SARDONYX" run sequence.onnx --random 1 --dim n=2
echo $?
"$SARDONYX" run grow.onnx --random 1
echo $?
"$SARDONYX" run linear.onnx --random 1 --dim batch=4000000000000000000
echo $?
