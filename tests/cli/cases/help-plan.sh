"$SARDONYX" plan --help
