for input in y=x.npy x=absent.npy x=x64.npy x=wide.npy x=flat.npy x=x.txt x=linear.onnx; do
    "$SARDONYX" run linear.onnx --input $input
    echo "$input: $?"
done
"$SARDONYX" run linear.onnx --input x=x.npy --input x=x.pb
echo $?
"$SARDONYX" run linear.onnx
echo $?
"$SARDONYX" run half.onnx --input x=flat.npy
echo $?
"$SARDONYX" run brain.onnx --input x=flat.npy
echo $?
"$SARDONYX" run sequence.onnx --input s=x.pb --input x=flat.npy
echo $?
cp x.npy cut.npy && truncate -s 140 cut.npy
"$SARDONYX" run linear.onnx --input x=cut.npy
echo $?
