/* f32_tile_heights.h - tiles of TILE_VECTORS vectors, of one row up to TILE_TALLEST. Included by f32_tile.c with
 * the two, TILE_HALF and TILE_SHARED set; takes the two away. */
#define TILE_ROWS 1
#include "kernels/simd/f32_tile_template.h"
#if TILE_TALLEST >= 2
#define TILE_ROWS 2
#include "kernels/simd/f32_tile_template.h"
#endif
#if TILE_TALLEST >= 3
#define TILE_ROWS 3
#include "kernels/simd/f32_tile_template.h"
#endif
#if TILE_TALLEST >= 4
#define TILE_ROWS 4
#include "kernels/simd/f32_tile_template.h"
#endif
#if TILE_TALLEST >= 5
#define TILE_ROWS 5
#include "kernels/simd/f32_tile_template.h"
#endif
#if TILE_TALLEST >= 6
#define TILE_ROWS 6
#include "kernels/simd/f32_tile_template.h"
#endif
#if TILE_TALLEST >= 7
#define TILE_ROWS 7
#include "kernels/simd/f32_tile_template.h"
#endif
#if TILE_TALLEST >= 8
#define TILE_ROWS 8
#include "kernels/simd/f32_tile_template.h"
#endif
#if TILE_TALLEST >= 9
#define TILE_ROWS 9
#include "kernels/simd/f32_tile_template.h"
#endif
#if TILE_TALLEST >= 10
#define TILE_ROWS 10
#include "kernels/simd/f32_tile_template.h"
#endif
#if TILE_TALLEST >= 11
#define TILE_ROWS 11
#include "kernels/simd/f32_tile_template.h"
#endif
#if TILE_TALLEST >= 12
#define TILE_ROWS 12
#include "kernels/simd/f32_tile_template.h"
#endif
#undef TILE_VECTORS
#undef TILE_TALLEST
