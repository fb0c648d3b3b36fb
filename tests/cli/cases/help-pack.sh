"$SARDONYX" pack --help
