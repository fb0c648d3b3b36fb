printf 'P6 2 2 255\n\377\0\0\377\0\0\377\0\0\377\0\0' > red.ppm
printf 'P3 1 1 10\n0 5 10\n' > blue.ppm
"$SARDONYX" classify colours.onnx red.ppm missing.png blue.ppm --json --top 2
echo $?
