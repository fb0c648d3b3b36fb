# The list of commands, asked for in three ways.
"$SARDONYX" --help
"$SARDONYX" help | head -1
"$SARDONYX" -h | tail -1
