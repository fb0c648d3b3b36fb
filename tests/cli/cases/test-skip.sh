"$SARDONYX" test cases/skip
