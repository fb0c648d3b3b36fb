# One strategy after another on the example of the help, the answer as CSV, and its check.
cat > problem.csv <<'CSV'
id,lower,upper,size
b1,0,3,4
b2,3,9,4
b3,0,9,4
b4,9,21,4
b5,0,21,4
CSV
"$SARDONYX" plan problem.csv --strategy naive --strategy size --strategy best --csv plan.csv
cat plan.csv
"$SARDONYX" plan plan.csv --strategy given
"$SARDONYX" plan problem.csv --strategy exact --capacity 16 --json
"$SARDONYX" plan problem.csv --align 64 --strategy exact
