/* packing.c - tests of what brings weights into panels: from lines of any alignment, by rows or by
 * columns, with taps; and of the transform of 3x3 weights. */
#include "kernels/panels.h"
#include "kernels_test.h"

/* One source through all panels; against plain indexing. */
static void check_panels(const sdx_kernels *set, size_t columns, size_t depth, size_t taps,
                         bool by_columns, float scale, size_t shift) {
    const sdx_panels panels = sdx_panels_of(columns, set->lanes);
    const size_t total = columns * depth * taps, width = sdx_panels_width(&panels);
    char *bytes = malloc(total * sizeof(float) + shift + 1);
    float *plain = guarded(total), *to = guarded(width * depth * taps);
    if (!bytes) exit(1);
    random_fill(plain, total);
    memcpy(bytes + shift, plain, total * sizeof *plain);
    sdx_panel_source from = {bytes + shift, depth * taps, taps, 1, taps, depth, scale};
    if (by_columns) from.column = 1, from.row = columns, from.tap = columns * depth;
    for (size_t p = 0; p < panels.count; p++) {
        float *panel = to + sdx_panel_first(&panels, p) * depth * taps;
        const size_t wide = sdx_panel_vectors(&panels, p) * set->lanes;
        sdx_panel_pack(&panels, p, &from, panel);
        for (size_t t = 0; t < taps; t++)
            for (size_t k = 0; k < depth; k++)
                for (size_t n = 0; n < wide; n++) {
                    const size_t column = sdx_panel_first(&panels, p) + n;
                    const float want = column < columns
                                           ? plain[column * from.column + k * from.row + t * from.tap] * scale
                                           : 0.0f;
                    near((double)panel[(t * depth + k) * wide + n], (double)want, 0, "panel", column);
                }
    }
    guarded_check(to, width * depth * taps, "panels");
    guarded_free(plain);
    guarded_free(to);
    free(bytes);
}

void test_panels(const sdx_kernels *set) {
    /* Drivers ask for the set that is picked. */
    if (set != sdx_kernels_get()) return;
    static const size_t columns[] = {1, 3, 8, 16, 31, 33, 48, 100}, depths[] = {1, 5, 16, 47, 49, 130};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
            for (size_t taps = 1; taps <= 9; taps += 4)
                for (size_t way = 0; way < 4; way++)
                    check_panels(set, columns[c], depths[d], taps, way & 1,
                                 way & 2 ? 0.75f : 1.0f, (c + d + way) % 4);
}

/* G g G^T in double, from the matrices of the definition. */
static double transformed(const double (*m)[3], const float *g, size_t step, size_t y, size_t x) {
    double sum = 0;
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) sum += m[y][i] * m[x][k] * (double)g[(i * 3 + k) * step];
    return sum;
}

void test_winograd_weights(const sdx_kernels *set) {
    static const double g_4[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
    static const double g_6[6][3] = {{1.0 / 4, 0, 0}, {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                     {-1.0 / 6, 1.0 / 6, -1.0 / 6}, {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                     {1.0 / 24, -1.0 / 12, 1.0 / 6}, {0, 0, 1}};
    for (size_t edge = 4; edge <= 6; edge += 2)
        for (size_t channels = 1; channels <= 3; channels++)
            for (size_t vectors = 1; vectors <= 3; vectors++) {
                const size_t maps = vectors * set->lanes, to_step = maps + 5;
                const size_t stride = channels * to_step + 3, room = edge * edge * stride;
                float *from = guarded(channels * 9 * maps), *to = guarded(room);
                random_fill(from, channels * 9 * maps);
                const sdx_winograd_weights job = {from, to, to_step, stride, channels, maps};
                set->f32_winograd_weights(&job, edge);
                for (size_t p = 0; p < edge * edge; p++)
                    for (size_t c = 0; c < channels; c++)
                        for (size_t n = 0; n < maps; n++)
                            near((double)to[p * stride + c * to_step + n],
                                 transformed(edge == 4 ? g_4 : g_6, from + c * 9 * maps + n, maps,
                                             p / edge, p % edge),
                                 1e-6, "weights", p);
                guarded_check(to, room, "winograd weights");
                guarded_free(from);
                guarded_free(to);
            }
}
