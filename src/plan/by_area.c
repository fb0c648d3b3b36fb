/* by_area.c - the strategy "area": the largest size times lifetime first, each into the smallest gap. */
#include "plan/plan.h"

sdx_status sdx_plan_by_area(sdx_plan_task *task, sdx_error *error) {
    return sdx_plan_sorted_list(task, SDX_PLAN_BY_AREA, SDX_PLAN_BEST_FIT, error);
}
