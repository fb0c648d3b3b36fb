/* by_start_first_fit.c - the strategy "start-first-fit": in order of the first use, each into the lowest
 * gap that holds it. */
#include "plan/plan.h"

sdx_status sdx_plan_by_start_first_fit(sdx_plan_task *task, sdx_error *error) {
    return sdx_plan_sorted_list(task, SDX_PLAN_BY_START, SDX_PLAN_FIRST_FIT, error);
}
