# Files and arguments that make no sense.
printf 'id,lower,upper,size\na,0,2,4\nb,5,3,4\n' > bad.csv
"$SARDONYX" plan bad.csv
echo "exit $?"
"$SARDONYX" plan missing.csv
echo "exit $?"
"$SARDONYX" plan bad.csv --strategy nonsense
echo "exit $?"
"$SARDONYX" plan
echo "exit $?"
