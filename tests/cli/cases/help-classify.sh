"$SARDONYX" classify --help
diff <("$SARDONYX" classify --help) <("$SARDONYX" help classify)
