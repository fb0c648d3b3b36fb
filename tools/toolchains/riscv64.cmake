# 64-bit RISC-V, with Debian's cross compiler (tools/setup.sh cross); programs run under qemu.
# usage: cmake -B build/riscv64 --toolchain tools/toolchains/riscv64.cmake; tests/cross/run.sh does so
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-riscv64-static)
