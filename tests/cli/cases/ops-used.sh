# What a build for certain models needs: operators of the file and of passes, and the passes.
"$SARDONYX" ops --used linear.onnx
"$SARDONYX" ops --used
echo "exit code $?"
"$SARDONYX" ops --used missing.onnx
echo "exit code $?"
