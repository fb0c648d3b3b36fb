# The table of strategies.
"$SARDONYX" plan --list
