"$SARDONYX" runner --help
