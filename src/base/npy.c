/* npy.c - NumPy's .npy files: read any plain numeric or text array, write any tensor. Types that
 * NumPy lacks (bfloat16, float8, int4 …) are written as the nearest wider type it has. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/endian.h"
#include "base/file.h"
#include "base/value.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6

static const struct {
    char kind;
    unsigned size;
    sdx_dtype dtype;
} types[] = {
    {'f', 2, SDX_DTYPE_FLOAT16}, {'f', 4, SDX_DTYPE_FLOAT32}, {'f', 8, SDX_DTYPE_FLOAT64},
    {'i', 1, SDX_DTYPE_INT8},    {'i', 2, SDX_DTYPE_INT16},   {'i', 4, SDX_DTYPE_INT32},
    {'i', 8, SDX_DTYPE_INT64},   {'u', 1, SDX_DTYPE_UINT8},   {'u', 2, SDX_DTYPE_UINT16},
    {'u', 4, SDX_DTYPE_UINT32},  {'u', 8, SDX_DTYPE_UINT64},  {'b', 1, SDX_DTYPE_BOOL},
    {'c', 8, SDX_DTYPE_COMPLEX64}, {'c', 16, SDX_DTYPE_COMPLEX128},
};

/* ---- reading ---------------------------------------------------------------------------------- */

typedef struct npy_header {
    char order, kind;
    unsigned size; /* bytes of an element; characters for text */
    sdx_dtype dtype;
    bool fortran;
    int32_t rank;
    int64_t dims[SDX_MAX_RANK];
    size_t data; /* offset in the file */
} npy_header;

/* What follows 'key': in the header's Python dictionary. */
static const char *find_key(const char *text, const char *key) {
    const char *at = strstr(text, key);
    if (!at) return NULL;
    at += strlen(key);
    while (*at && (*at == '\'' || *at == '"' || *at == ':' || isspace((unsigned char)*at))) at++;
    return at;
}

static sdx_status parse_descr(const char *path, const char *text, npy_header *header,
                              sdx_error *error) {
    const char *at = find_key(text, "descr");
    header->order = '|';
    if (at && strchr("<>|=", *at) && *at) header->order = *at++;
    header->kind = at ? *at : 0;
    char *end = NULL;
    unsigned long size = at && *at ? strtoul(at + 1, &end, 10) : 0;
    header->size = size > 1u << 20 ? 0 : (unsigned)size;
    bool text_type = header->kind == 'U' || header->kind == 'S';
    header->dtype = text_type && end && end != at + 1 ? SDX_DTYPE_STRING : SDX_DTYPE_UNDEFINED;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].kind == header->kind && types[i].size == header->size)
            header->dtype = types[i].dtype;
    if (header->dtype) return SDX_STATUS_OK;
    if (at && *at == '[')
        return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%s: arrays of records are not supported",
                        path);
    size_t length = at ? strcspn(at, "'\"") : 0;
    return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%s: element type '%.*s' is not supported", path,
                    length > 16 ? 16 : (int)length, at ? at : "");
}

static sdx_status parse_shape(const char *path, const char *text, npy_header *header,
                              sdx_error *error) {
    const char *at = find_key(text, "shape");
    if (!at || *at != '(')
        return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%s: the header has no shape", path);
    at++;
    while (*at && *at != ')') {
        char *end;
        long long dim = strtoll(at, &end, 10);
        if (end == at || dim < 0 || header->rank == SDX_MAX_RANK)
            return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                            "%s: the header's shape is malformed or has more than %d dimensions",
                            path, SDX_MAX_RANK);
        header->dims[header->rank++] = dim;
        at = end;
        while (*at == ',' || *at == ' ' || *at == 'L') at++;
    }
    const char *fortran = find_key(text, "fortran_order");
    header->fortran = fortran && *fortran == 'T';
    return *at == ')' ? SDX_STATUS_OK
                      : sdx_fail(error, SDX_STATUS_BAD_INPUT, "%s: the header is cut off", path);
}

static sdx_status parse_header(const char *path, const sdx_file *file, npy_header *header,
                               sdx_error *error) {
    memset(header, 0, sizeof *header);
    const uint8_t *b = file->data;
    if (file->size < 10 || memcmp(b, MAGIC, MAGIC_SIZE) != 0)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%s: not a .npy file", path);
    bool long_form = b[6] >= 2;
    size_t start = long_form ? 12 : 10;
    if (file->size < start)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%s: the file is cut off", path);
    size_t length = (size_t)b[8] | (size_t)b[9] << 8;
    if (long_form) length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > file->size - start || length > 1u << 16)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%s: the header is cut off", path);
    char *text = malloc(length + 1);
    if (!text) return sdx_fail_memory(error, length, "a .npy header");
    memcpy(text, b + start, length);
    text[length] = 0;
    sdx_status status = parse_descr(path, text, header, error);
    if (status == SDX_STATUS_OK) status = parse_shape(path, text, header, error);
    free(text);
    header->data = start + length;
    return status;
}

/* Column-major to row-major: walks the output in order, stepping through the source. */
static void copy_fortran(const uint8_t *from, size_t size, const sdx_tensor *to) {
    int64_t index[SDX_MAX_RANK] = {0};
    size_t strides[SDX_MAX_RANK] = {0}, step = size, at = 0;
    for (int32_t i = 0; i < to->rank; i++) {
        strides[i] = step;
        step *= (size_t)to->dims[i];
    }
    for (size_t n = 0; n < to->count; n++) {
        memcpy((uint8_t *)to->data + n * size, from + at, size);
        for (int32_t axis = to->rank - 1; axis >= 0; axis--) {
            at += strides[axis];
            if (++index[axis] < to->dims[axis]) break;
            at -= strides[axis] * (size_t)to->dims[axis];
            index[axis] = 0;
        }
    }
}

static size_t put_utf8(uint32_t c, char *out) {
    if (c < 0x80) return out[0] = (char)c, 1;
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18 & 7));
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* Fixed-width text, padded with zeros, to string elements. */
#define MOST_EMPTY_TEXT 65536 /* text of width 0 takes no bytes in a file: any count would be there */
static sdx_status read_text(const char *path, const npy_header *header, const uint8_t *data,
                            const sdx_tensor *like, const sdx_allocator *allocator,
                            sdx_value **out, sdx_error *error) {
    size_t width = header->size, unit = header->kind == 'U' ? 4 : 1, elements, bytes;
    if (width == 0 && like->count > MOST_EMPTY_TEXT)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%s: %zu elements of text of width 0", path,
                        like->count);
    if (!sdx_size_mul(like->count, sizeof(sdx_string), &elements) ||
        !sdx_size_mul(like->count, width * 4, &bytes))
        return sdx_fail_memory(error, SIZE_MAX, "text");
    sdx_string *strings = malloc(elements + 1);
    char *text = malloc(bytes + 1), *at = text;
    sdx_status status = strings && text ? SDX_STATUS_OK : sdx_fail_memory(error, bytes, "text");
    for (size_t i = 0; status == SDX_STATUS_OK && i < like->count; i++) {
        const uint8_t *from = data + i * width * unit;
        char *begin = at, *last = at;
        for (size_t k = 0; k < width; k++, from += unit) {
            uint32_t c = from[0];
            if (unit == 4 && header->order == '>')
                c = (uint32_t)from[3] | (uint32_t)from[2] << 8 | (uint32_t)from[1] << 16 |
                    (uint32_t)from[0] << 24;
            else if (unit == 4)
                c = (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
                    (uint32_t)from[3] << 24;
            if (unit == 4) at += put_utf8(c, at);
            else *at++ = (char)c;
            if (c) last = at;
        }
        at = last;
        strings[i] = (sdx_string){begin, (size_t)(last - begin)};
    }
    sdx_tensor tensor = *like;
    tensor.data = strings;
    if (status == SDX_STATUS_OK) status = sdx_value_new_tensor(allocator, &tensor, out, error);
    free(strings);
    free(text);
    return status;
}

static sdx_status read_array(const char *path, const sdx_file *file,
                             const sdx_allocator *allocator, sdx_value **out, sdx_error *error) {
    npy_header header;
    SDX_TRY(parse_header(path, file, &header, error));
    sdx_tensor like;
    sdx_error inner;
    sdx_error_clear(&inner);
    if (sdx_tensor_init(&like, header.dtype, header.rank, header.dims, NULL, &inner) !=
        SDX_STATUS_OK)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%s: %s", path, inner.message);
    size_t size = header.kind == 'U' ? (size_t)header.size * 4 : header.size, bytes;
    if (!sdx_size_mul(like.count, size, &bytes)) bytes = SIZE_MAX;
    if (bytes > file->size - header.data)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                        "%s: the file has %zu bytes of data, its shape needs %zu", path,
                        file->size - header.data, bytes);
    const uint8_t *data = file->data + header.data;
    if (header.dtype == SDX_DTYPE_STRING) {
        if (header.fortran && header.rank > 1)
            return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%s: text in Fortran order", path);
        return read_text(path, &header, data, &like, allocator, out, error);
    }
    SDX_TRY(sdx_value_alloc_tensor(allocator, header.dtype, header.rank, header.dims, out, error));
    sdx_tensor *tensor = &(*out)->tensor;
    if (header.fortran && header.rank > 1) copy_fortran(data, size, tensor);
    else if (bytes) memcpy(tensor->data, data, bytes);
    bool file_big = header.order == '>';
    size_t unit = header.kind == 'c' ? size / 2 : size;
    if (unit > 1 && file_big == sdx_little_endian()) sdx_swap_bytes(tensor->data, bytes, unit);
    for (size_t i = 0; header.dtype == SDX_DTYPE_BOOL && i < tensor->count; i++)
        ((uint8_t *)tensor->data)[i] = ((uint8_t *)tensor->data)[i] != 0;
    return SDX_STATUS_OK;
}

sdx_status sdx_value_read_npy(const char *path, const sdx_allocator *allocator, sdx_value **out,
                              sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!path || !out)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_value_read_npy: NULL given");
    sdx_file file;
    *out = NULL;
    SDX_TRY(sdx_file_open(path, false, allocator, &file, error));
    sdx_status status = read_array(path, &file, allocator, out, error);
    sdx_file_close(&file);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------------- */

/* The NumPy type that a tensor is written as. */
static sdx_dtype written_as(sdx_dtype dtype) {
    if (sdx_dtypes_has(SDX_T_FLOAT8 | SDX_T(BFLOAT16) | SDX_T_FLOAT46, dtype))
        return SDX_DTYPE_FLOAT32;
    if (sdx_dtypes_has(SDX_T(INT4) | SDX_T(INT2), dtype)) return SDX_DTYPE_INT8;
    if (sdx_dtypes_has(SDX_T(UINT4) | SDX_T(UINT2), dtype)) return SDX_DTYPE_UINT8;
    return dtype;
}

static size_t make_header(const char *descr, const sdx_tensor *tensor, char *out, size_t size) {
    char shape[SDX_MAX_RANK * 24] = "";
    size_t used = 0;
    for (int32_t i = 0; i < tensor->rank; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lld%s", i ? ", " : "",
                                 (long long)tensor->dims[i], tensor->rank == 1 ? "," : "");
    memcpy(out, MAGIC "\x01\x00", 8);
    int length = snprintf(out + 10, size - 10,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    size_t total = 10 + (size_t)length + 1;
    size_t padded = (total + 63) / 64 * 64; /* NumPy aligns the data to 64 bytes */
    memset(out + 10 + length, ' ', padded - total);
    out[padded - 1] = '\n';
    out[8] = (char)((padded - 10) & 0xff);
    out[9] = (char)((padded - 10) >> 8);
    return padded;
}

/* Bytes of one UTF-8 character; 1 for a stray byte. */
static size_t utf8_length(const char *text, size_t left, uint32_t *c) {
    uint8_t first = (uint8_t)text[0];
    size_t n = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 1;
    if (n > left) n = 1;
    *c = n == 1 ? first : n == 2 ? first & 0x1fu : n == 3 ? first & 0xfu : first & 7u;
    for (size_t i = 1; i < n; i++) *c = *c << 6 | ((uint8_t)text[i] & 0x3fu);
    return n;
}

static size_t character_count(sdx_string s) {
    size_t count = 0;
    uint32_t c;
    for (size_t at = 0; at < s.size; at += utf8_length(s.data + at, s.size - at, &c)) count++;
    return count;
}

static sdx_status write_text(const char *path, const sdx_tensor *tensor, sdx_error *error) {
    const sdx_string *strings = tensor->data;
    size_t width = 1, bytes;
    for (size_t i = 0; i < tensor->count; i++) {
        size_t n = character_count(strings[i]);
        if (n > width) width = n;
    }
    if (!sdx_size_mul(tensor->count, width * 4, &bytes))
        return sdx_fail_memory(error, SIZE_MAX, "text");
    uint8_t *data = calloc(bytes + 1, 1);
    if (!data) return sdx_fail_memory(error, bytes, "text");
    for (size_t i = 0; i < tensor->count; i++) {
        uint8_t *to = data + i * width * 4;
        uint32_t c;
        for (size_t at = 0; at < strings[i].size; to += 4) {
            at += utf8_length(strings[i].data + at, strings[i].size - at, &c);
            for (unsigned k = 0; k < 4; k++) to[k] = (uint8_t)(c >> (8 * k));
        }
    }
    char descr[32], header[1024];
    snprintf(descr, sizeof descr, "<U%zu", width);
    size_t size = make_header(descr, tensor, header, sizeof header);
    sdx_status status =
        sdx_file_write(path, (sdx_piece[]){{header, size}, {data, bytes}}, 2, error);
    free(data);
    return status;
}

sdx_status sdx_value_write_npy(const char *path, const sdx_tensor *tensor, sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!path || !tensor)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_value_write_npy: NULL given");
    if (tensor->dtype == SDX_DTYPE_STRING) return write_text(path, tensor, error);
    sdx_dtype dtype = written_as(tensor->dtype);
    char descr[16] = "", header[1024];
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype)
            snprintf(descr, sizeof descr, "%c%c%u",
                     types[i].size == 1 ? '|' : sdx_little_endian() ? '<' : '>', types[i].kind,
                     types[i].size);
    size_t size = make_header(descr, tensor, header, sizeof header);
    size_t bytes = tensor->count * sdx_dtype_size(dtype);
    if (dtype == tensor->dtype || dtype != SDX_DTYPE_FLOAT32)
        return sdx_file_write(path, (sdx_piece[]){{header, size}, {tensor->data, bytes}}, 2, error);
    float *wide = malloc(bytes + 1);
    if (!wide) return sdx_fail_memory(error, bytes, "a .npy file");
    sdx_to_f32(tensor->dtype, tensor->data, wide, tensor->count);
    sdx_status status = sdx_file_write(path, (sdx_piece[]){{header, size}, {wide, bytes}}, 2, error);
    free(wide);
    return status;
}
