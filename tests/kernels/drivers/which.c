/* which.c - prints the instruction set whose kernels are picked here, under the name that SARDONYX_CPU has
 * for it. */
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"

int main(void) {
    const char *isa = sdx_kernels_get()->isa;
    puts(strcmp(isa, "base") == 0 ? "scalar" : isa);
    return 0;
}
