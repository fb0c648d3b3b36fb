# What is refused, before anything is measured.
for arguments in '' 'linear.onnx --what dance' 'linear.onnx --batch 0' 'linear.onnx --batch 1,1' \
    'linear.onnx --threads 1,' 'linear.onnx --optimize 4' 'linear.onnx --fail-if slower:5%' \
    'linear.onnx --compare x --fail-if faster' 'linear.onnx --command a=b' \
    'linear.onnx --what program --command ab' 'linear.onnx --what load --schedule alternating' \
    'linear.onnx --dim nobody=3' 'linear.onnx --compare missing.json' 'missing.onnx'; do
    # shellcheck disable=SC2086
    "$SARDONYX" bench $arguments
    echo "exit $?"
done
echo '{"format": "sardonyx bench", "version": 99}' > other.json
"$SARDONYX" bench linear.onnx --compare other.json
echo "exit $?"
# A folder that is not there is noticed before anything is measured, too.
"$SARDONYX" bench linear.onnx --time 1000 --json no/such/folder.json > /dev/null
echo "exit $?"
"$SARDONYX" bench linear.onnx --time 1000 --html . > /dev/null
echo "exit $?"
# A pipe is written to and stays one.
mkfifo pipe
cat pipe > through.csv &
"$SARDONYX" bench linear.onnx --warmup 0 --time 0 --rounds 1 --csv pipe > /dev/null
echo "exit $?"
wait
head -n 1 through.csv | cut -d, -f 1-3
[[ -p pipe ]] || echo 'the pipe is gone'
# A full disk.
"$SARDONYX" bench linear.onnx --warmup 0 --time 0 --rounds 1 --csv /dev/full > /dev/null
echo "exit $?"
"$SARDONYX" bench linear.onnx --warmup 0 --time 0 --rounds 1 > /dev/full
echo "exit $?"
ls -la /dev/full | cut -c 1
