# A packed file gives what the model gives, and every command takes it.
printf 'cat\ndog\n' > names.txt
export SARDONYX_CPU=scalar
facts() { sed -E 's/^size .*/size/; s/"bytes": [0-9]+/"bytes": N/'; }
"$SARDONYX" pack linear.onnx -o linear.sdx --preset raw --labels names.txt \
    --metadata author=somebody --verify | facts
"$SARDONYX" run linear.onnx --input x=x.npy --output plain > /dev/null 2>&1
"$SARDONYX" run linear.sdx --verify --input x=x.npy --output packed > /dev/null 2>&1
cmp plain/*.npy packed/*.npy && echo same
"$SARDONYX" inspect linear.sdx | grep -A4 '^metadata'
"$SARDONYX" inspect linear.sdx | grep '^packed'
"$SARDONYX" inspect linear.sdx --stage plan --dim batch=2 | grep '^slices'
"$SARDONYX" plan linear.sdx --dim batch=2 > /dev/null && echo planned
# With plain weights for any machine; subgraphs and shapes that depend on data too.
for model in linear branches data; do
    "$SARDONYX" pack $model.onnx -o $model.sdx --plain --json | facts
done
"$SARDONYX" pack linear.sdx -o twice.sdx --plain > /dev/null
cmp linear.sdx twice.sdx && echo same
(unset SARDONYX_CPU; "$SARDONYX" run linear.sdx --input x=x.npy --output again > /dev/null 2>&1) && echo repacked
"$SARDONYX" pack linear.onnx -o half.sdx --f16 | facts
"$SARDONYX" pack linear.onnx -o fixed.sdx --dim batch=2 > /dev/null
"$SARDONYX" inspect fixed.sdx | grep -A1 '^inputs'
