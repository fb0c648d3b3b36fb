# Batches, levels and threads; first run and steady state apart; every form of output.
"$SARDONYX" bench linear.onnx --batch 1,2 --threads 1,2 --optimize 3,0 --warmup 0 --time 0 --rounds 4 \
    --json out.json --csv out.csv --markdown out.md --title Linear > out.txt
echo "exit $?"
ls out.*
"$PYTHON" "$HERE/bench_facts.py" out.json
"$PYTHON" -c 'import csv; print(len(list(csv.DictReader(open("out.csv")))), "lines of CSV")'
grep -c '^| batch' out.md
head -1 out.txt
"$SARDONYX" bench linear.onnx --batch 1,4 --schedule alternating --warmup 0 --time 0 --rounds 3 \
    --csv - | cut -d, -f1,2,4-10
echo "exit $?"
