"$SARDONYX" --version
