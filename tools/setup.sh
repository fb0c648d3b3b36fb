#!/usr/bin/env bash
# Installs what building and testing need, and nothing that is already there.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: tools/setup.sh GROUP..

  build    compiler, CMake, Ninja, cmocka: what `make` needs
  python   .venv with the pinned packages of tools/requirements.txt
  torch    Debian's PyTorch and torchvision, for models/export.py
  peers    .venv-peers with the engines of tools/requirements-peers.txt that
           bench/peers compares with; goes on without those that cannot be had
  afl      AFL++, for `make fuzz-afl`
  valgrind valgrind, for `make valgrind`
  cross    cross compilers and emulators of `make cross` and `make neon`: ARM of 64 and 32
           bits, RISC-V, 32-bit x86, s390x; goes on without those that cannot be had
  static   musl-gcc, for `make static`
  analyze  clang-tidy and cppcheck, for `make analyze`
  coverage .venv-coverage with gcovr, for `make coverage`
  test     build, python and torch, clang with its sanitizer runtime, and, where the
           system has them, cross, static, Chromium and the test data of an older ONNX

Installs only what is missing; quiet and quick when nothing is.
Exit codes: 0 all present, 1 something could not be installed, 2 usage.

Example: tools/setup.sh build python
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
requirements=$root/tools/requirements.txt
peers_venv=$root/.venv-peers
peers_requirements=$root/tools/requirements-peers.txt
coverage_venv=$root/.venv-coverage
coverage_requirements=$root/tools/requirements-coverage.txt

# "package" is satisfied by that Debian package alone, "package=command" also
# by a command of that name from any other source.
build_packages=(gcc=cc libc6-dev make=make cmake=cmake ninja-build=ninja
    libcmocka-dev libpcre2-dev libcjson-dev
    libjpeg62-turbo-dev libpng-dev libwebp-dev libtiff-dev libopenjp2-7-dev)
python_packages=(python3-venv)
# torch works with the plain BLAS too, but exports transformers five times
# slower; installing OpenBLAS makes it the system's choice.
torch_packages=(python3-torch python3-torchvision libopenblas0-pthread)
clang_packages=(clang=clang libclang-rt-dev)
afl_packages=(afl++=afl-fuzz "${clang_packages[@]}")
# gcc-multilib, for -m32, cannot be installed beside cross compilers; gcc-i686-linux-gnu can.
cross_packages=(qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    gcc-arm-linux-gnueabihf libc6-dev-armhf-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
    gcc-i686-linux-gnu libc6-dev-i386-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross)
static_packages=(musl-tools=musl-gcc)
analyze_packages=(clang-tidy=clang-tidy cppcheck=cppcheck)
# What tests can do without: they say so and are counted as skipped.
optional_packages=(libonnx-testdata chromium chromium-driver cppcheck=cppcheck)

fail() {
    printf 'setup.sh: %s\n' "$*" >&2
    exit 1
}

# Prints the packages among the arguments that are not there yet.
missing_packages() {
    local installed entry package command
    # dpkg-query exits non-zero when it does not know one of the names.
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' \
        "${@%%=*}" 2>/dev/null || true)
    for entry in "$@"; do
        package=${entry%%=*}
        command=${entry#"$package"}
        command=${command#=}
        [[ $'\n'$installed$'\n' == *$'\n'"installed $package"$'\n'* ]] && continue
        [[ -n $command ]] && command -v "$command" >/dev/null && continue
        echo "$package"
    done
}

# Runs a command silently; shows what it printed only if it fails. apt waits
# for dpkg's lock by itself, but not for those of its lists and its archive
# cache, so those two are tried again for a while.
run_apt() {
    local log tries=0
    log=$(mktemp)
    until "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq \
        -o DPkg::Lock::Timeout=120 "$@" >"$log" 2>&1 </dev/null; do
        if ((++tries < 24)) && grep -q 'Could not get lock' "$log"; then
            sleep 5
            continue
        fi
        cat "$log" >&2
        rm -f "$log"
        return 1
    done
    rm -f "$log"
}

install_packages() {
    local packages
    mapfile -t packages < <(missing_packages "$@")
    ((${#packages[@]})) || return 0

    local by_hand="apt-get update && apt-get install -y --no-install-recommends ${packages[*]}"
    command -v apt-get >/dev/null ||
        fail "no apt-get here; install what Debian calls: ${packages[*]}"
    as_root=()
    if ((EUID != 0)); then
        if ! sudo -n true 2>/dev/null; then
            fail "may not install packages; run as root:
  $by_hand"
        fi
        as_root=(sudo -n)
    fi

    echo "setup.sh: installing ${packages[*]}" >&2
    run_apt update || fail "apt-get update failed"
    run_apt install -y --no-install-recommends "${packages[@]}" ||
        fail "could not install packages; the command was:
  $by_hand"
}

# The packages into .venv at once: without one of them the tests cannot do.
install_all() {
    "$1/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
        --requirement "$2" || fail "could not install ${2#"$root/"}"
}

# The packages into .venv-peers one by one: an engine that cannot be had is left out, and the
# benchmark says so.
install_each() {
    local line
    while read -r line; do
        [[ -z $line || $line == \#* ]] && continue
        "$1/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
            --no-deps "$line" </dev/null || echo "setup.sh: going on without $line" >&2
    done <"$2"
}

# make_venv FOLDER REQUIREMENTS INSTALLER
make_venv() {
    local folder=$1 list=$2 stamp=$1/.requirements.sha256 wanted python=/usr/bin/python3
    wanted=$(sha256sum <"$list")
    is_current() {
        [[ -x $folder/bin/python && -f $stamp && $(<"$stamp") == "$wanted" ]]
    }
    is_current && return 0

    # Two runs at once must not build the same directory: the second waits,
    # then finds the work done. The lock is on this script, which always exists.
    exec 9<"${BASH_SOURCE[0]}"
    flock 9
    if ! is_current; then
        [[ -x $python ]] || python=python3
        echo "setup.sh: making ${folder##*/}" >&2
        rm -rf "$folder"
        "$python" -m venv "$folder" || fail "could not create $folder"
        "$3" "$folder" "$list"
        # Written last: an interrupted run leaves no stamp and starts over.
        echo "$wanted" >"$stamp"
    fi
    exec 9<&-
}

packages=()
optional=()
need_venv=0
need_peers=0
need_coverage=0
(($#)) || { usage >&2; exit 2; }
for group in "$@"; do
    case $group in
    build) packages+=("${build_packages[@]}") ;;
    python) packages+=("${python_packages[@]}") need_venv=1 ;;
    peers) packages+=("${python_packages[@]}") need_peers=1 ;;
    torch) packages+=("${torch_packages[@]}") ;;
    afl) packages+=("${afl_packages[@]}") ;;
    valgrind) packages+=(valgrind=valgrind) ;;
    cross) optional+=("${cross_packages[@]}") ;;
    static) packages+=("${static_packages[@]}") ;;
    analyze) packages+=("${build_packages[@]}" "${analyze_packages[@]}") ;;
    coverage) packages+=("${build_packages[@]}" "${python_packages[@]}") need_coverage=1 ;;
    test)
        packages+=("${build_packages[@]}" "${python_packages[@]}"
            "${torch_packages[@]}" "${clang_packages[@]}")
        optional+=("${optional_packages[@]}" "${cross_packages[@]}" "${static_packages[@]}")
        need_venv=1
        ;;
    -h | --help) usage; exit 0 ;;
    *)
        echo "setup.sh: no such group: $group" >&2
        usage >&2
        exit 2
        ;;
    esac
done

install_packages "${packages[@]}"
# One by one, so that one that is missing does not take the others along, and each in a shell of its own,
# which alone ends where something cannot be installed.
for package in "${optional[@]}"; do
    (install_packages "$package") || echo "setup.sh: going on without ${package%%=*}" >&2
done
if ((need_venv)); then make_venv "$venv" "$requirements" install_all; fi
if ((need_peers)); then make_venv "$peers_venv" "$peers_requirements" install_each; fi
if ((need_coverage)); then make_venv "$coverage_venv" "$coverage_requirements" install_all; fi
