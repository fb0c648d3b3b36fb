# Both ways to a command's help say the same.
"$SARDONYX" test --help
diff <("$SARDONYX" test --help) <("$SARDONYX" help test)
