"$SARDONYX" test cases/fail
