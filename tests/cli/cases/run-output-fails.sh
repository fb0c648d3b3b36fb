"$SARDONYX" run linear.onnx --input x=x.npy --output x.npy
echo $?
"$SARDONYX" run linear.onnx --input x=x.npy --output absent/results
echo $?
"$SARDONYX" inspect linear.onnx > /dev/full
