#!/usr/bin/env bash
# Compares a model's results with ONNX Runtime's, kept in the backend-test layout by references.py.
# usage: check.sh SARDONYX FOLDER
set -euo pipefail
if [[ -e $2/failed.txt ]]; then
    echo "$(basename "$2"): $(< "$2/failed.txt")"
    exit 1
fi
if [[ ! -e $2/model.onnx ]]; then
    reason="not made"
    [[ -e $2/skipped.txt ]] && reason=$(< "$2/skipped.txt")
    echo "skipped: $(basename "$2"): $reason"
    exit 77
fi
exec "$1" test "$2" --rtol 1e-3 --atol 1e-4
