/* best.c - the strategy "best", the default everywhere: cheap strategies first, then dear ones, until
 * the bound is met, which proves that nothing smaller exists. */
#include "plan/plan.h"

typedef struct rung {
    const char *strategy;
    uint64_t nodes; /* it may search; 0: all that time allows */
} rung;

#define MANY 3000 /* items: most lists take long, and a search would not get far */

static const rung few[] = {{"tflite-micro", 0}, {"start-best-fit", 0}, {"size", 0}, {"breadth", 0},
                           {"exact", 3000000},  {"hill-climb", 0},     {"exact", 0}};
static const rung many[] = {{"tflite-micro", 0}, {"hill-climb", 0}, {"exact", 0}};

sdx_status sdx_plan_best(sdx_plan_task *task, sdx_error *error) {
    bool is_many = task->count > MANY;
    const rung *ladder = is_many ? many : few;
    size_t rungs = is_many ? sizeof many / sizeof *many : sizeof few / sizeof *few;
    for (size_t i = 0; i < rungs; i++) {
        if (i > 0 && (sdx_plan_done(task) || task->target < task->bound ||
                      sdx_plan_stopped_now(task)))
            break;
        task->node_limit = ladder[i].nodes == 0 ? 0 : task->nodes + ladder[i].nodes;
        SDX_TRY(sdx_plan_run_strategy(task, ladder[i].strategy, error));
    }
    task->node_limit = 0;
    return SDX_STATUS_OK;
}
