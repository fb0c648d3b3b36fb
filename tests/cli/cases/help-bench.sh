# Both ways to a command's help say the same.
"$SARDONYX" bench --help
diff <("$SARDONYX" bench --help) <("$SARDONYX" help bench)
