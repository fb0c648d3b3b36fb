"$SARDONYX" test cases --quiet | tail -1
echo "${PIPESTATUS[0]}"
"$SARDONYX" test cases --filter pass/d --threads 2 --optimize 0
"$SARDONYX" test cases/fail/value --rtol 1 --quiet
