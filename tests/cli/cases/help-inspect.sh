# Both ways to a command's help say the same.
"$SARDONYX" inspect --help
diff <("$SARDONYX" inspect --help) <("$SARDONYX" help inspect)
