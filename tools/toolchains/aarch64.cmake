# 64-bit ARM, with Debian's cross compiler (tools/setup.sh cross); programs run under qemu.
# usage: cmake -B build/aarch64 --toolchain tools/toolchains/aarch64.cmake; tests/cross/run.sh does so
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
