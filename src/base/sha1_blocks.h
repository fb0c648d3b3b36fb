/* sha1_blocks.h - the inner loop of SHA-1, in the ways that there are; see sha1.c. */
#ifndef SDX_BASE_SHA1_BLOCKS_H
#define SDX_BASE_SHA1_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* Takes in `count` blocks of 64 bytes. */
typedef void sdx_sha1_blocks(uint32_t state[5], const uint8_t *data, size_t count);

sdx_sha1_blocks sdx_sha1_blocks_plain;
/* By the processor's own instructions; NULL where it has none, or SARDONYX_CPU is scalar. */
sdx_sha1_blocks *sdx_sha1_blocks_machine(void);

#endif
