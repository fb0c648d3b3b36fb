# Both ways to a command's help say the same.
"$SARDONYX" run --help
diff <("$SARDONYX" run --help) <("$SARDONYX" help run)
