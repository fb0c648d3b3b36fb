/* limits.c - the limits that every command which loads a model takes: for models that nobody trusts. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char *memory_text;
static double seconds;
static int64_t nodes, depth;
static bool copy;
static sdx_limits limits = {.struct_size = sizeof limits};

static const option options[] = {
    {.name = "--max-memory", .kind = OPTION_TEXT, .to = &memory_text},
    {.name = "--max-time", .kind = OPTION_NUMBER, .to = &seconds},
    {.name = "--max-nodes", .kind = OPTION_INTEGER, .to = &nodes, .low = 1, .high = INT64_MAX},
    {.name = "--max-depth", .kind = OPTION_INTEGER, .to = &depth, .low = 1, .high = 1000},
    {.name = "--copy", .kind = OPTION_FLAG, .to = &copy},
};

const char limits_help[] =
    "\nlimits, for models that nobody trusts (over one: exit code 1):\n"
    "  --max-memory BYTES  that a model, a program or a run may hold, such as 64M or 2G\n"
    "                      (default: what the machine or the control group has left)\n"
    "  --max-time SECONDS  of loading, of making the program, of each run\n"
    "  --max-nodes N       in the model, functions written out (default 4000000)\n"
    "  --max-depth N       of graphs, functions and messages inside one another (default 64)\n"
    "  --copy              read the model's files into memory in place of mapping them: whoever writes to\n"
    "                      one, or cuts it short, does no harm afterwards\n";

const option *limits_options(size_t *count) {
    *count = sizeof options / sizeof *options;
    return options;
}

/* "64M" and the like; 0: no size. */
static uint64_t read_bytes(const char *argument) {
    static const char units[] = "KMGT";
    char *end;
    double number = strtod(argument, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    for (const char *u = units; unit && u <= unit; u++) number *= 1024;
    bool whole = *end == 0 || (unit && end[1] == 0);
    return end != argument && whole && number >= 1 && number < 0x1p63 ? (uint64_t)number : 0;
}

bool limits_check(const command *cmd) {
    limits.max_memory = memory_text ? read_bytes(memory_text) : 0;
    limits.max_nodes = (uint64_t)nodes;
    limits.max_depth = (uint32_t)depth;
    /* A limit of 0 would be none: the least is a millisecond. */
    limits.max_time_ms = seconds <= 0 ? 0 : seconds < 1e-3 ? 1 : (uint64_t)(seconds * 1e3);
    if (!memory_text || limits.max_memory) return true;
    usage_error(cmd, "--max-memory is '%s', expected bytes, such as 500000, 64M or 2G", memory_text);
    return false;
}

const sdx_limits *limits_given(void) { return &limits; }

uint32_t load_flags_given(void) { return copy ? (uint32_t)SDX_LOAD_COPY : 0u; }
