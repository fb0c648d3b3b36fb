# With and without pre-processing; whole programs begin with the picture.
printf 'P6 2 2 255\n\377\0\0\377\0\0\377\0\0\377\0\0' > red.ppm
"$SARDONYX" bench colours.onnx --image red.ppm --preset "unit resize=fill" --batch 1,3 --warmup 0 --time 0 --rounds 3 \
    --optimize 3,0 --json out.json > out.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
"$SARDONYX" bench linear.onnx --image red.ppm --preset raw --warmup 0 --time 0 --rounds 3 --json out.json > out.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
"$SARDONYX" bench colours.onnx --image red.ppm --preset "unit resize=fill" --what program --warmup 0 --time 0 \
    --rounds 3 --json out.json > out.txt
echo "exit $?"
"$PYTHON" "$HERE/bench_facts.py" out.json
for arguments in '--image none.png' '--image red.ppm --preset sepia' '--image red.ppm --what load'; do
    # shellcheck disable=SC2086
    "$SARDONYX" bench colours.onnx $arguments
    echo "exit $?"
done
