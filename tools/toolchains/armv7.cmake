# 32-bit ARM, hard floats, with Debian's cross compiler (tools/setup.sh cross); programs run under qemu.
# usage: cmake -B build/armv7 --toolchain tools/toolchains/armv7.cmake; tests/cross/run.sh does so
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR armv7)
set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-arm-static)
