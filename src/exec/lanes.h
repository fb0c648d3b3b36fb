/* lanes.h - slices side by side. Threads that work on one slice together hand every layer's results to each
 * other, which costs what the way between their cores costs, a hundred times a slice. So where a batch has
 * slices enough, each thread runs some of them by itself: in a context of its own, a lane, with tables and
 * bindings of its own, a part of the arena, and no threads. Only weights, inputs and outputs are shared.
 * A slice has the same bits either way, and so does the batch. See slice.h. */
#ifndef SDX_EXEC_LANES_H
#define SDX_EXEC_LANES_H

#include "exec/context.h"

/* Plans context->slices slices of context->slice samples for a lane of each thread, with these symbols but
 * for the batch; makes the lanes if there are none yet. Sets context->largest. Fails where the limits leave
 * no room, which is no reason to fail the run. */
sdx_status sdx_lanes_plan(sdx_context *context, const int64_t *symbols, sdx_error *error);
/* Gives each lane its part of the arena. */
sdx_status sdx_lanes_provide(sdx_context *context, sdx_error *error);
/* Runs all slices; context->whole has the inputs. */
sdx_status sdx_lanes_run(sdx_context *context, sdx_error *error);
/* Drops what the last run left on the heap. NULL: no lanes; here and below. */
void sdx_lanes_clear(sdx_lanes *lanes);
/* The plan of a lane's largest slice. */
const sdx_bound *sdx_lanes_bound(const sdx_lanes *lanes);
size_t sdx_lanes_bytes(const sdx_lanes *lanes); /* of tables */
void sdx_lanes_release(sdx_lanes *lanes);

/* For what lanes may do one at a time only. */
void sdx_lanes_lock(sdx_lanes *lanes);
void sdx_lanes_unlock(sdx_lanes *lanes);

/* One slice in a lane, or in the context itself. */
sdx_status sdx_run_slice(sdx_context *whole, sdx_context *lane, int64_t index, sdx_error *error);

#endif
