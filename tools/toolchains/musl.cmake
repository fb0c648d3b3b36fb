# This machine with musl, for programs that are linked statically and need no files of the system
# (`make static`). Debian's musl-gcc has no headers of the kernel: those are taken from the system's own, after
# musl's, so that nothing else of it is seen.
set(CMAKE_C_COMPILER musl-gcc)
execute_process(COMMAND gcc -print-multiarch OUTPUT_VARIABLE multiarch OUTPUT_STRIP_TRAILING_WHITESPACE)
set(CMAKE_C_FLAGS_INIT "-idirafter /usr/include -idirafter /usr/include/${multiarch}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
