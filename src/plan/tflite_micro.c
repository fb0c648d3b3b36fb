/* tflite_micro.c - the strategy "tflite-micro": the largest first, each into the lowest gap that holds it;
 * the greedy planner of TensorFlow Lite Micro. */
#include "plan/plan.h"

sdx_status sdx_plan_tflite_micro(sdx_plan_task *task, sdx_error *error) {
    return sdx_plan_sorted_list(task, SDX_PLAN_BY_SIZE, SDX_PLAN_FIRST_FIT, error);
}
