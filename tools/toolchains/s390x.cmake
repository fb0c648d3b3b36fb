# 64-bit IBM Z: the one with its bytes the other way round, with Debian's cross compiler (tools/setup.sh cross); programs run under qemu.
# usage: cmake -B build/s390x --toolchain tools/toolchains/s390x.cmake; tests/cross/run.sh does so
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(CMAKE_C_COMPILER s390x-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-s390x-static)
