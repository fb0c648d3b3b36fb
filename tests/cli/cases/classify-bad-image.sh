printf 'P6 2 2 255\n\377\0\0\377\0\0\377\0\0\377\0\0' > red.ppm
printf 'P3 1 1 10\n0 5 10\n' > blue.ppm
# A bad image does not keep the others from being classified.
head -c 20 red.ppm > cut.ppm
printf 'no image' > words.png
printf 'P6 60000 60000 255\n' > bomb.ppm
mkdir folder
for image in cut.ppm words.png missing.png bomb.ppm folder; do
    "$SARDONYX" classify colours.onnx "$image"
    echo "$image: $?"
done
"$SARDONYX" classify colours.onnx cut.ppm blue.ppm --top 1
echo $?
"$SARDONYX" classify colours.onnx red.ppm --max-pixels 3
echo $?
