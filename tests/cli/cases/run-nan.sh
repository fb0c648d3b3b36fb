"$SARDONYX" run nan.onnx --input x=three.npy 2> /dev/null
