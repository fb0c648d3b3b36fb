/* task.h - from the caller's buffers to the task that strategies see, and back. For solve.c. */
#ifndef SDX_PLAN_TASK_H
#define SDX_PLAN_TASK_H

#include "plan/plan.h"

/* Fills *task (clock and seed aside) and source[i], the buffer of item i; memory is the arena's.
 * count may be 0 afterwards. *naive: the sum of all sizes in bytes, rounded to the alignment. */
sdx_status sdx_plan_task_build(const sdx_buffer *buffers, uint32_t count, size_t align,
                               sdx_arena *memory, sdx_plan_task *task, uint32_t **source,
                               size_t *naive, sdx_error *error);

#endif
