/* fused_matrix.c - packing of constant matrices for the operators that passes make; see fused.h. */
#include "kernels/matrix.h"
#include "ops/fused.h"

sdx_status sdx_fused_matrix_pack(sdx_pack *pack, const sdx_fused_matrix *m, size_t *depth,
                                 size_t *columns, float **to) {
    const sdx_const *matrix = sdx_pack_constant(pack, m->matrix);
    *depth = (size_t)matrix->dims[m->transposed ? 1 : 0];
    *columns = (size_t)matrix->dims[m->transposed ? 0 : 1];
    *to = sdx_pack_piece(pack, SDX_DTYPE_FLOAT32, sdx_matrix_packed_size(*depth, *columns));
    if (!*to) return pack->error->code;
    pack->taken |= 1u << m->matrix | 1u << m->bias | 1u << m->factors;
    if (pack->filled) return SDX_STATUS_OK;
    const void *from, *bias, *factors;
    SDX_TRY(sdx_pack_weights(pack, m->matrix, m->bias, &from, &bias));
    sdx_matrix_pack(pack->threads, *depth, *columns, from, m->transposed ? 1 : *columns,
                    m->transposed ? *depth : 1, m->scale, bias, *to, pack->read);
    if (!sdx_pack_constant(pack, m->factors)) return SDX_STATUS_OK;
    SDX_TRY(sdx_pack_floats(pack, m->factors, &factors));
    sdx_matrix_scale(*depth, *columns, factors, *to);
    return SDX_STATUS_OK;
}
