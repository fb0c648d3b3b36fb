"$SARDONYX" test cases/pass
"$SARDONYX" test cases/pass/double cases/pass/deep --quiet
