/* external.h - data files beside a model, opened only beneath one folder and mapped once each. */
#ifndef SDX_ONNX_EXTERNAL_H
#define SDX_ONNX_EXTERNAL_H

#include "base/memory.h"
#include "proto/reader.h"

typedef struct sdx_external sdx_external;

/* root NULL: every request is refused with a reason. */
sdx_status sdx_external_create(const sdx_allocator *allocator, const char *root, bool copy,
                               sdx_external **out, sdx_error *error);
void sdx_external_release(sdx_external *external);
uint64_t sdx_external_bytes(const sdx_external *external); /* of all files opened so far */

/* As sdx_file_forget, in whichever file the bytes lie. */
bool sdx_external_forget(const sdx_external *external, const void *data, size_t size);

typedef struct sdx_external_request {
    sdx_span location; /* relative path */
    sdx_span checksum; /* hexadecimal SHA-1 of the whole file, or empty */
    uint64_t offset;
    bool has_length;
    uint64_t length;
    uint64_t position; /* in the model file, for messages */
    const char *tensor;
} sdx_external_request;

sdx_status sdx_external_get(sdx_external *external, const sdx_external_request *request,
                            size_t needed, sdx_span *out, sdx_error *error);

#endif
