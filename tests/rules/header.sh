#!/usr/bin/env bash
# The public header compiles alone, as C99, C11 and C++, without warnings.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#include "sardonyx.h"\nint main(void) { return sdx_version() == 0; }\n' > "$work/a.c"
cp "$work/a.c" "$work/a.cc"
strict=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Iinclude -fsyntax-only)
for standard in c99 c11; do
    cc -std=$standard "${strict[@]}" -Wstrict-prototypes "$work/a.c"
    echo "compiles alone as $standard"
done
if ! command -v c++ > /dev/null; then
    echo "skipped: no C++ compiler"
    exit 77
fi
for standard in c++11 c++20; do
    c++ -std=$standard "${strict[@]}" "$work/a.cc"
    echo "compiles alone as $standard"
done
