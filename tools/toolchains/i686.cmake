# 32-bit x86, with Debian's cross compiler (tools/setup.sh cross); programs run under qemu.
# usage: cmake -B build/i686 --toolchain tools/toolchains/i686.cmake; tests/cross/run.sh does so
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_C_COMPILER i686-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-i386-static)
# Without SSE2, sums would be kept in 80 bits, and results would depend on what the compiler spills.
set(CMAKE_C_FLAGS_INIT "-msse2 -mfpmath=sse")
