# Both ways to a command's help say the same.
"$SARDONYX" ops --help
diff <("$SARDONYX" ops --help) <("$SARDONYX" help ops)
