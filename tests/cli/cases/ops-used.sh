# What a build for certain models needs: operators of the file and of passes, those of them that run, the passes
# and other parts. Without passes, the file's own operators run, too.
"$SARDONYX" ops --used linear.onnx
"$SARDONYX" ops --used --all-levels linear.onnx
"$SARDONYX" ops --used
echo "exit code $?"
"$SARDONYX" ops --used missing.onnx
echo "exit code $?"
