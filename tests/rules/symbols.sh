#!/usr/bin/env bash
# Exported symbols all begin with sdx_: of the static library every global one, of the shared
# library those that programs can link to, which must also be just the functions of sardonyx.h.
# usage: symbols.sh LIBRARY.a LIBRARY.so
set -euo pipefail
header=$(cd "$(dirname "$0")/../.." && pwd)/include/sardonyx.h

odd=$(nm -g --defined-only "$1" 2>/dev/null | awk 'NF == 3 && $3 !~ /^sdx_/ {print $3}')
odd+=$(nm -D --defined-only "$2" | awk '$2 ~ /[A-Z]/ && $3 !~ /^sdx_/ {print $3}')
if [[ -n $odd ]]; then
    printf 'symbols without sdx_:\n%s\n' "$odd"
    exit 1
fi
exported=$(nm -D --defined-only "$2" | awk '$2 ~ /[A-Z]/ {print $3}' | sort)
declared=$(tr '\n' ' ' < "$header" | grep -oE 'SDX_API[^;(]*\(' | grep -oE 'sdx_[a-z0-9_]+ *\($' |
    tr -d ' (' | sort)
if [[ $exported != "$declared" ]]; then
    echo "the header and the shared library disagree:"
    diff <(echo "$declared") <(echo "$exported") || true
    exit 1
fi
echo "$(wc -l <<< "$exported") exported symbols, all sdx_ and all in the header"
