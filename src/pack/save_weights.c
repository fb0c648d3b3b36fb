/* save_weights.c - the data of a packed file: weights in the layout of each instruction set asked for, and
 * constants as they are, those that only packed steps read left out unless they are to stay. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/sha1.h"
#include "kernels/kernels.h"
#include "pack/save.h"

sdx_status sdx_save_align(sdx_saver *s, size_t alignment) {
    static const uint8_t zeros[SDX_PACKED_PAGE];
    size_t over = (size_t)(s->file.at % alignment);
    return over ? sdx_file_put(&s->file, zeros, alignment - over, s->error) : SDX_STATUS_OK;
}

/* Bytes to the file and, with what they are padded by, to a digest. */
static sdx_status put(sdx_saver *s, sdx_sha1_state *digest, const void *data, size_t size) {
    sdx_sha1_add(digest, data, size);
    return sdx_file_put(&s->file, data, size, s->error);
}

static sdx_status pad(sdx_saver *s, sdx_sha1_state *digest) {
    static const uint8_t zeros[SDX_PACKED_ALIGN];
    size_t over = (size_t)(s->file.at % SDX_PACKED_ALIGN);
    return over ? put(s, digest, zeros, SDX_PACKED_ALIGN - over) : SDX_STATUS_OK;
}

static void note_span(sdx_sink *out, uint64_t at, uint64_t size, sdx_sha1_state *state) {
    uint8_t digest[SDX_DIGEST];
    sdx_sha1_end(state, digest);
    sdx_put_number(out, at);
    sdx_put_number(out, size);
    sdx_put_bytes(out, digest, sizeof digest);
}

/* ---- packed ------------------------------------------------------------------------------------- */

static sdx_status write_pieces(sdx_saver *s, const sdx_pack *pack, uint32_t number) {
    sdx_sha1_state digest;
    uint64_t begin = s->file.at;
    sdx_sha1_begin(&digest);
    for (uint32_t i = 0; i < pack->piece_count; i++) {
        SDX_TRY(pad(s, &digest));
        SDX_TRY(put(s, &digest, pack->pieces[i].data, pack->pieces[i].size));
    }
    uint64_t size = s->file.at - begin;
    sdx_put_number(&s->sets, number);
    sdx_put_number(&s->sets, pack->way);
    note_span(&s->sets, begin, size, &digest);
    return sdx_save_align(s, SDX_PACKED_ALIGN);
}

static void note_reads(sdx_saver *s, const sdx_node *node, uint32_t taken) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        sdx_id value = node->inputs[i];
        if (value == SDX_NONE) continue;
        if (i < 32 && taken >> i & 1u) s->taken[value] = 1;
        else s->plain[value] = 1;
    }
}

/* Packs one node and gives the memory back at once. */
static sdx_status pack_node(sdx_saver *s, uint32_t number, uint32_t *count) {
    const sdx_node *node = sdx_node_at(s->module, s->nodes.list[number]);
    sdx_arena arena, temp;
    sdx_arena_init(&arena, s->allocator, 0);
    sdx_arena_init(&temp, s->allocator, 0);
    sdx_pack pack = {.module = s->module, .node = node, .def = node->op->def,
                     .params = node->params, .optimize = s->program->optimize, .arena = &arena,
                     .temp = &temp, .clear = true, .error = s->error};
    sdx_status status = node->op->def->pack(&pack);
    if (status != SDX_STATUS_OK) sdx_program_blame(s->program, node, s->error);
    if (status == SDX_STATUS_OK && pack.piece_count) {
        status = write_pieces(s, &pack, number);
        ++*count;
    }
    note_reads(s, node, pack.piece_count ? pack.taken : 0);
    sdx_arena_free(&temp);
    sdx_arena_free(&arena);
    return status;
}

static sdx_status save_set(sdx_saver *s, const sdx_kernels *kernels) {
    sdx_sink before = s->sets;
    uint64_t begin;
    uint32_t count = 0;
    SDX_TRY(sdx_save_align(s, SDX_PACKED_PAGE));
    begin = s->file.at;
    s->sets = (sdx_sink){.allocator = s->allocator};
    sdx_status status = SDX_STATUS_OK;
    sdx_kernels_use(kernels);
    for (uint32_t n = 0; status == SDX_STATUS_OK && n < s->nodes.count; n++)
        if (sdx_node_at(s->module, s->nodes.list[n])->op->def->pack)
            status = pack_node(s, n, &count);
    sdx_kernels_use(NULL);
    sdx_sink blobs = s->sets;
    s->sets = before;
    sdx_put_text(&s->sets, kernels->isa);
    sdx_put_number(&s->sets, s->file.at - begin);
    sdx_put_number(&s->sets, count);
    sdx_put_bytes(&s->sets, blobs.data, blobs.size);
    s->sets.failed |= blobs.failed;
    s->set_count++;
    sdx_sink_free(&blobs);
    return status;
}

static sdx_status find_set(sdx_saver *s, const char *name, const sdx_kernels **out) {
    const char *isa = strcmp(name, "scalar") == 0 ? "base" : name;
    for (size_t i = 0; (*out = sdx_kernels_at(i)); i++)
        if (strcmp((*out)->isa, isa) == 0) return SDX_STATUS_OK;
    return sdx_fail(s->error, SDX_STATUS_INVALID_ARGUMENT,
                    "weights cannot be packed here for the instruction set '%.32s'", name);
}

sdx_status sdx_save_sets(sdx_saver *s) {
    const sdx_pack_options *o = &s->options;
    for (uint32_t g = 0; g < s->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(s->module, s->graphs.list[g]);
        for (uint32_t i = 0; i < graph->output_count; i++) s->plain[graph->outputs[i]] = 1;
        for (uint32_t i = 0; i < graph->input_count; i++) s->plain[graph->inputs[i]] = 1;
    }
    for (uint32_t n = 0; n < s->nodes.count; n++) {
        const sdx_node *node = sdx_node_at(s->module, s->nodes.list[n]);
        if (!node->op->def->pack) note_reads(s, node, 0);
    }
    if (o->flags & SDX_PACK_HALF) return SDX_STATUS_OK;
    if (!o->set_count) return save_set(s, sdx_kernels_get());
    for (size_t i = 0; i < o->set_count; i++) {
        const sdx_kernels *kernels;
        SDX_TRY(find_set(s, o->sets[i], &kernels));
        for (size_t k = 0; k < i; k++)
            if (strcmp(o->sets[i], o->sets[k]) == 0)
                return sdx_fail(s->error, SDX_STATUS_INVALID_ARGUMENT,
                                "the instruction set '%.32s' is given twice", o->sets[i]);
        SDX_TRY(save_set(s, kernels));
    }
    return SDX_STATUS_OK;
}

/* ---- plain -------------------------------------------------------------------------------------- */

/* Weights proper: vectors and scalars (norms, biases, epsilons) stay as exact as they are. */
static bool fits_half(const sdx_const *constant, const float *floats) {
    if (constant->dtype != SDX_DTYPE_FLOAT32 || constant->rank < 2) return false;
    for (size_t i = 0; i < constant->count; i++)
        if (isfinite(floats[i]) && fabsf(floats[i]) > 65504.0f) return false;
    return true;
}

static sdx_status write_data(sdx_saver *s, sdx_encoding encoding, const void *data, size_t size) {
    sdx_sha1_state digest;
    SDX_TRY(sdx_save_align(s, SDX_PACKED_ALIGN));
    uint64_t begin = s->file.at;
    sdx_sha1_begin(&digest);
    SDX_TRY(put(s, &digest, data, size));
    sdx_put_number(&s->constants, encoding);
    note_span(&s->constants, begin, size, &digest);
    return SDX_STATUS_OK;
}

/* Elements in memory layout, turned little-endian where the host is not. */
static sdx_status write_elements(sdx_saver *s, const sdx_const *constant, uint8_t *data) {
    size_t size = sdx_dtype_size(constant->dtype), bytes = constant->count * size;
    bool complex = constant->dtype == SDX_DTYPE_COMPLEX64 || constant->dtype == SDX_DTYPE_COMPLEX128;
    if (s->options.flags & SDX_PACK_HALF && fits_half(constant, (const float *)(void *)data)) {
        for (size_t i = 0; i < constant->count; i++) {
            float x;
            memcpy(&x, data + i * sizeof x, sizeof x);
            uint16_t half = sdx_f32_to_f16(x);
            data[2 * i] = (uint8_t)half;
            data[2 * i + 1] = (uint8_t)(half >> 8);
        }
        return write_data(s, SDX_ENCODING_HALF, data, constant->count * 2);
    }
    if (sdx_dtype_file_bits(constant->dtype) < 8) {
        uint8_t *packed = sdx_alloc(s->allocator, bytes, 1); /* more than enough */
        if (!packed || !sdx_dtype_file_size(constant->dtype, constant->count, &size))
            return sdx_save_no_memory(s);
        sdx_dtype_pack(constant->dtype, data, constant->count, packed);
        sdx_status status = write_data(s, SDX_ENCODING_FILE, packed, size);
        sdx_free(s->allocator, packed, bytes);
        return status;
    }
    if (!sdx_little_endian()) sdx_swap_bytes(data, bytes, complex ? size / 2 : size);
    return write_data(s, SDX_ENCODING_FILE, data, bytes);
}

static sdx_status save_strings(sdx_saver *s, const sdx_const *constant, const sdx_string *strings) {
    sdx_put_number(&s->constants, SDX_ENCODING_STRINGS);
    for (size_t i = 0; i < constant->count; i++)
        sdx_put_string(&s->constants, strings[i].data, strings[i].size);
    return SDX_STATUS_OK;
}

static sdx_status save_data(sdx_saver *s, const sdx_const *constant) {
    bool half = (s->options.flags & SDX_PACK_HALF) != 0;
    if (sdx_const_absent(constant))
        return sdx_fail(s->error, SDX_STATUS_UNSUPPORTED,
                        "the file has the constant '%.64s' in packed form only; pack the model that it "
                        "was made from",
                        constant->name);
    if (sdx_const_in_place(constant) && constant->dtype != SDX_DTYPE_STRING &&
        sdx_dtype_file_bits(constant->dtype) >= 8 && sdx_little_endian() && !half)
        return write_data(s, SDX_ENCODING_FILE, constant->data,
                          constant->count * sdx_dtype_size(constant->dtype));
    size_t bytes;
    if (!sdx_size_mul(constant->count, sdx_dtype_size(constant->dtype), &bytes))
        return sdx_save_no_memory(s);
    uint8_t *data = sdx_alloc(s->allocator, bytes, SDX_CACHE_LINE);
    if (!data) return sdx_save_no_memory(s);
    sdx_const_decode(constant, data);
    sdx_status status = constant->dtype == SDX_DTYPE_STRING
                            ? save_strings(s, constant, (const sdx_string *)(void *)data)
                            : write_elements(s, constant, data);
    sdx_free(s->allocator, data, bytes);
    return status;
}

/* Whether each constant is read in packed form alone. */
static bool *find_dropped(sdx_saver *s) {
    bool *dropped = sdx_arena_array(&s->scratch, s->constant_list.count + 1, sizeof *dropped);
    bool *kept = sdx_arena_array(&s->scratch, s->constant_list.count + 1, sizeof *kept);
    if (!dropped || !kept) return NULL;
    bool drop = !(s->options.flags & (SDX_PACK_PLAIN | SDX_PACK_HALF)) && s->set_count;
    for (uint32_t v = 0; v < s->values.count; v++) {
        sdx_id id = s->values.list[v];
        const sdx_value_def *value = sdx_value_at(s->module, id);
        if (value->fallback) kept[sdx_save_constant(s, value->fallback)] = true;
        if (!value->constant) continue;
        uint32_t number = sdx_save_constant(s, value->constant);
        if (s->plain[id]) kept[number] = true;
        else if (s->taken[id] && drop) dropped[number] = true;
    }
    for (size_t i = 0; i < s->constant_list.count; i++) dropped[i] = dropped[i] && !kept[i];
    return dropped;
}

sdx_status sdx_save_constants(sdx_saver *s) {
    const bool *dropped = find_dropped(s);
    if (!dropped) return sdx_save_no_memory(s);
    SDX_TRY(sdx_save_align(s, SDX_PACKED_PAGE));
    sdx_put_number(&s->constants, s->constant_list.count);
    for (size_t i = 0; i < s->constant_list.count; i++) {
        const sdx_const *constant = ((const sdx_const **)s->constant_list.data)[i];
        sdx_put_text(&s->constants, constant->name);
        sdx_put_number(&s->constants, constant->dtype);
        sdx_put_number(&s->constants, (uint64_t)constant->rank);
        for (int32_t d = 0; d < constant->rank; d++)
            sdx_put_number(&s->constants, (uint64_t)constant->dims[d]);
        if (constant->count == 0) sdx_put_number(&s->constants, SDX_ENCODING_EMPTY);
        else if (dropped[i]) sdx_put_number(&s->constants, SDX_ENCODING_ABSENT);
        else SDX_TRY(save_data(s, constant));
    }
    return s->constants.failed ? sdx_save_no_memory(s) : SDX_STATUS_OK;
}
