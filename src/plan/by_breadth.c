/* by_breadth.c - the strategy "breadth": steps in falling order of the bytes live in them, in each the
 * largest buffer first; the greedy-by-breadth of Pisarchyk and Lee (arXiv 2001.03288). */
#include "plan/plan.h"

sdx_status sdx_plan_by_breadth(sdx_plan_task *task, sdx_error *error) {
    return sdx_plan_sorted_list(task, SDX_PLAN_BY_BREADTH, SDX_PLAN_BEST_FIT, error);
}
