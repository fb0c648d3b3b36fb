printf 'P6 2 2 255\n\377\0\0\377\0\0\377\0\0\377\0\0' > red.ppm
printf 'P3 1 1 10\n0 5 10\n' > blue.ppm
"$SARDONYX" classify
"$SARDONYX" classify colours.onnx
for option in "--preset sepia" "--resize big" "--resize 0" "--crop 3" "--crop off" "--mean 1,2" \
              "--std 0" "--scale -1" "--interpolation nearest" "--channels gray" "--channels cmyk" \
              "--layout chwn" "--layout nhwc" "--top 0" "--softmax on" "--output y" "--batch 0" \
              "--labels missing.txt" "--labels imagenet" "--max-pixels 0" "--save-input"; do
    "$SARDONYX" classify colours.onnx red.ppm $option
    echo "$option: $?"
done
"$SARDONYX" classify colours.onnx red.ppm --mean "1 2"
echo $?
"$SARDONYX" classify linear.onnx red.ppm
echo $?
"$SARDONYX" classify two-images.onnx red.ppm
echo $?
"$SARDONYX" classify odd-colours.onnx red.ppm
echo $?
"$SARDONYX" classify odd-colours.onnx red.ppm --preset raw
echo $?
"$SARDONYX" classify odd-colours.onnx red.ppm --preset raw --batch 3
echo $?
printf 'one\ntwo\n' > two.txt
"$SARDONYX" classify colours.onnx red.ppm --labels two.txt
echo $?
"$SARDONYX" classify missing.onnx red.ppm
echo $?
