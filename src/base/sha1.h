/* sha1.h - the digest that ONNX external data may carry. Not for security: for damaged files. */
#ifndef SDX_BASE_SHA1_H
#define SDX_BASE_SHA1_H

#include <stddef.h>
#include <stdint.h>

void sdx_sha1(const void *data, size_t size, uint8_t digest[20]);

#endif
