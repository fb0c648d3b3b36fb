#!/usr/bin/env bash
# The number of threads follows what the process may use: its affinity mask, the quota of its control group, the
# environment.
# usage: tests/affinity/check.sh mask|quota COUNT_PROGRAM
# Exit codes: 0 it does, 1 it does not, 77 this machine has no such thing.
set -uo pipefail
if (($# != 2)); then
    sed -n '2,5s/^# \?//p' "$0" >&2
    exit 2
fi
kind=$1 count=$2
# shellcheck source=tests/affinity/group.sh
source "$(dirname "$0")/group.sh"
unset SARDONYX_THREADS
passed=0 failed=0
# expect NAME 'CPUS THREADS' COMMAND..
expect() {
    local name=$1 wanted=$2 found
    shift 2
    found=$("$@")
    if [[ $found == "$wanted" ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name: CPUs and threads are '$found', expected '$wanted'"
    fi
}
IFS=, read -ra ranges <<< "$(taskset -cp $$ | sed 's/.*: //')"
first=${ranges[0]%%-*}
all=$(nproc)

case $kind in
mask)
    command -v taskset > /dev/null || { echo "skipped: there is no taskset" && exit 77; }
    expect "one CPU" "1 1" taskset -c "$first" "$count"
    expect "one CPU, 8 threads" "1 1" env SARDONYX_THREADS=8 taskset -c "$first" "$count"
    expect "64 threads" "$("$count")" env SARDONYX_THREADS=64 "$count"
    expect "fewer threads" "$("$count" | sed 's/ .*//') 1" env SARDONYX_THREADS=1 "$count"
    expect "more threads than allowed" "1 1" env SARDONYX_THREADS=1000000 taskset -c "$first" "$count"
    expect "no number" "1 1" env SARDONYX_THREADS=many taskset -c "$first" "$count"
    ;;
quota)
    trap end_group EXIT
    make_group || exit 77
    for quota in 1000 50000 100000; do # a hundredth of a CPU, a half, one
        set_quota $quota
        expect "quota $quota" "1 1" inside "$count"
    done
    if ((all > 1)); then
        set_quota 150000
        expect "one and a half CPUs" "2 2" inside "$count"
    fi
    set_quota $((all * 100000 + 50000))
    expect "more than there are" "$all $all" inside "$count"
    set_quota 50000
    expect "half a CPU, 8 threads" "1 1" inside env SARDONYX_THREADS=8 "$count"
    mkdir "$group/inner" # a group inside has what the one around it has
    inner() { (echo "$BASHPID" > "$group/inner/cgroup.procs" && exec "$@"); }
    expect "the group around" "1 1" inner "$count"
    rmdir "$group/inner"
    ;;
esac
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
