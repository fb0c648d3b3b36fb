"$SARDONYX" run sequence.onnx --input s=s.pb --input x=flat.npy --output results 2> /dev/null
"$PYTHON" -c 'import onnx
sequence = onnx.SequenceProto.FromString(open("results/out.pb", "rb").read())
print([item.tolist() for item in onnx.numpy_helper.to_list(sequence)])'
