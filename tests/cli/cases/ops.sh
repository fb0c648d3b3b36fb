# The table grows; a line that has long been there must stay.
"$SARDONYX" ops --filter relu | grep "^ai.onnx  *Relu " | head -1
"$SARDONYX" ops --filter LESSOREQUAL | awk '{print $1, $2}' | sort -u
"$SARDONYX" ops > all.txt && (($(wc -l < all.txt) > 100)) && echo "more than 100"
"$SARDONYX" ops --json > all.json && "$PYTHON" -c 'import json
ops = json.load(open("all.json"))
assert len(ops) == len(open("all.txt").readlines())
assert all(op["domain"] and op["name"] and op["first_version"] > 0 and op["types"] for op in ops)
print(sorted(ops[0]))'
"$SARDONYX" ops --filter frobnicate
