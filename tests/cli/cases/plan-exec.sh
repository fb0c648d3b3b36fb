# Programs as strategies: one that answers, and those that fail in all the ways.
printf 'id,lower,upper,size\na,0,2,4\nb,1,3,4\n' > problem.csv
for command in 'cat > /dev/null; printf "id,offset\nb,0\na,4\n"' \
    'printf "id,offset\na,0\nb,2\n"' 'cat' 'exit 7' 'kill -9 $$' 'sleep 60'; do
    "$SARDONYX" plan problem.csv --strategy "exec:$command" --time-limit 1
    echo "exit $?"
done
