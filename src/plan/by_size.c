/* by_size.c - the strategy "size": the largest first, each into the smallest gap that holds it; the
 * greedy-by-size of Pisarchyk and Lee (arXiv 2001.03288), which TensorFlow Lite uses. */
#include "plan/plan.h"

sdx_status sdx_plan_by_size(sdx_plan_task *task, sdx_error *error) {
    return sdx_plan_sorted_list(task, SDX_PLAN_BY_SIZE, SDX_PLAN_BEST_FIT, error);
}
