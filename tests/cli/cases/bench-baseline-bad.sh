# A baseline that is no JSON document, or goes on behind one, is refused.
bench() { "$SARDONYX" bench linear.onnx --warmup 0 --time 0 --rounds 1 "$@"; }
bench --save whole.json > /dev/null
{ cat whole.json; echo '{}'; } > two.json
head -c 100 whole.json > cut.json
: > empty.json
for name in two cut empty missing; do
    bench --compare $name.json > /dev/null
    echo "exit $?"
done
