# Answers that are no: out of reach, wrong offsets.
printf 'id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,2\n' > problem.csv
"$SARDONYX" plan problem.csv --capacity 7
echo "exit $?"
"$SARDONYX" plan problem.csv --strategy given
echo "exit $?"
