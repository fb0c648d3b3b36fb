# group.sh - a control group with a quota of CPU time, of version 1 or 2, for the scripts that source it.

group=
# make_group: an empty group in $group; says why and fails where there can be none.
make_group() {
    local cpu=/sys/fs/cgroup/cpu unified=/sys/fs/cgroup
    if [[ -e $cpu/cpu.cfs_quota_us || -e $cpu/tasks ]]; then
        group=$cpu/sardonyx-test.$$
    elif grep -qw cpu "$unified/cgroup.controllers" 2> /dev/null; then
        group=$unified/sardonyx-test.$$
    else
        echo "skipped: no controller of CPU time is mounted"
        return 1
    fi
    mkdir "$group" 2> /dev/null || { echo "skipped: $group cannot be made" && group= && return 1; }
    [[ -e $group/cpu.cfs_quota_us || -e $group/cpu.max ]] && return
    echo "skipped: the group has no quota"
    rmdir "$group"
    group=
    return 1
}

# set_quota MICROSECONDS: of each 100 milliseconds.
set_quota() {
    if [[ -e $group/cpu.max ]]; then
        echo "$1 100000" > "$group/cpu.max"
    else
        echo 100000 > "$group/cpu.cfs_period_us" && echo "$1" > "$group/cpu.cfs_quota_us"
    fi
}

# inside COMMAND..: in the group.
inside() {
    (echo "$BASHPID" > "$group/cgroup.procs" && exec "$@")
}

end_group() {
    [[ -z $group ]] || rmdir "$group"
}
