/* by_start_best_fit.c - the strategy "start-best-fit": in order of the first use, each into the smallest
 * gap; what an allocator would do along the run, but ahead of it, as ONNX Runtime does. */
#include "plan/plan.h"

sdx_status sdx_plan_by_start_best_fit(sdx_plan_task *task, sdx_error *error) {
    return sdx_plan_sorted_list(task, SDX_PLAN_BY_START, SDX_PLAN_BEST_FIT, error);
}
