# Interrupted in the middle of measuring: what was measured is written, whole.
"$SARDONYX" bench --what program --warmup 0 --time 600 --json out.json --csv out.csv \
    --command "mark=sh -c 'echo >> marks'" > out.txt &
bench=$!
while [[ $(wc -l < marks) -lt 6 ]]; do sleep 0.05; done 2> /dev/null
kill -INT "$bench"
wait "$bench"
echo "exit $?"
ls out.*
grep interrupted out.txt
"$PYTHON" "$HERE/bench_facts.py" out.json | sed 's/[0-9]* rounds/N rounds/'
