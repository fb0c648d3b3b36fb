# No two outputs share a file, and none leaves the folder.
"$SARDONYX" run names.onnx --input x=flat.npy --output results 2> /dev/null
ls results
