/* registry.c - the table made from ops.def and its look-up by domain, name and opset version; and the
 * one made from fused.def, for passes. A build for certain models (SARDONYX_OPS) has shorter lists. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "ops/op.h"
#include "ops/resolve.h"

#define DOMAIN_ONNX ""
#define DOMAIN_ML "ai.onnx.ml"
#define DOMAIN_TRAINING "ai.onnx.preview.training"
#define DOMAIN_PREVIEW "ai.onnx.preview"
#define DOMAIN_FUSED SDX_DOMAIN_FUSED

#define SDX_OP(domain, name, first, last, definition) extern const sdx_op_def definition;
#include "ops/fused.def"
#include "ops/ops.def"
#undef SDX_OP

const sdx_op sdx_ops[] = {
#define SDX_OP(domain, name, first, last, definition) \
    {DOMAIN_##domain, #name, first, last, &definition},
#include "ops/ops.def"
#undef SDX_OP
};
const size_t sdx_ops_count = sizeof sdx_ops / sizeof *sdx_ops;

/* Few, and looked up while programs are made only; ends with an entry without a name. */
static const sdx_op fused[] = {
#define SDX_OP(domain, name, first, last, definition) \
    {DOMAIN_##domain, #name, first, last, &definition},
#include "ops/fused.def"
#undef SDX_OP
    {0}};

#define FUSED_COUNT (sizeof fused / sizeof *fused - 1)

/* What was looked up, for `sardonyx ops --used`: first those of ops.def, then the fused ones. */
static atomic_bool found[sizeof sdx_ops / sizeof *sdx_ops + FUSED_COUNT];

static const sdx_op *note_found(const sdx_op *op, size_t index) {
    atomic_store_explicit(&found[index], true, memory_order_relaxed);
    return op;
}

/* Of which steps were made, or constants computed. */
static atomic_bool ran[sizeof sdx_ops / sizeof *sdx_ops + FUSED_COUNT];

/* NULL: it stands in neither list, as a test's own. */
static atomic_bool *ran_of(const sdx_op *op) {
    const uintptr_t at = (uintptr_t)op, first = (uintptr_t)sdx_ops, second = (uintptr_t)fused;
    if (at - first < sizeof sdx_ops) return &ran[(at - first) / sizeof *op];
    if (at - second >= FUSED_COUNT * sizeof *op) return NULL;
    return &ran[sdx_ops_count + (at - second) / sizeof *op];
}

bool sdx_op_runs(const sdx_op *op) {
    atomic_bool *noted = ran_of(op);
    if (op->def->run && noted) atomic_store_explicit(noted, true, memory_order_relaxed);
    return op->def->run != NULL;
}

bool sdx_op_has_run(const sdx_op *op) {
    atomic_bool *noted = ran_of(op);
    return noted && atomic_load_explicit(noted, memory_order_relaxed);
}

const sdx_op *sdx_op_found(size_t index) {
    for (size_t i = 0; i < sdx_ops_count + FUSED_COUNT; i++)
        if (atomic_load_explicit(&found[i], memory_order_relaxed) && index-- == 0)
            return i < sdx_ops_count ? &sdx_ops[i] : &fused[i - sdx_ops_count];
    return NULL;
}

const sdx_op *sdx_op_find_fused(const char *name) {
    for (size_t i = 0; i < FUSED_COUNT; i++)
        if (strcmp(fused[i].name, name) == 0) return note_found(&fused[i], sdx_ops_count + i);
    return NULL;
}

/* Newest opset version of each domain whose operators this library knows. */
static const struct {
    const char *domain;
    int newest;
} domains[] = {{DOMAIN_ONNX, 28}, {DOMAIN_ML, 5}, {DOMAIN_TRAINING, 1}, {DOMAIN_PREVIEW, 1}};

int sdx_domain_newest(const char *domain) {
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
        if (strcmp(domains[i].domain, domain) == 0) return domains[i].newest;
    return 0;
}

const char *sdx_domain_shown(const char *domain) { return domain[0] ? domain : "ai.onnx"; }

/* ops.def is sorted by domain, name, version (a test checks), so the look-up is a bisection. */
static int compare(const sdx_op *op, const char *domain, const char *name) {
    int order = strcmp(op->domain, domain);
    return order ? order : strcmp(op->name, name);
}

static size_t first_entry(const char *domain, const char *name) {
    size_t low = 0, high = sdx_ops_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&sdx_ops[middle], domain, name) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

const sdx_op *sdx_op_find(const char *domain, const char *name, int64_t version) {
    if (version > sdx_domain_newest(domain)) return NULL;
    for (size_t i = first_entry(domain, name);
         i < sdx_ops_count && compare(&sdx_ops[i], domain, name) == 0; i++)
        if (version >= sdx_ops[i].first && (sdx_ops[i].last == 0 || version <= sdx_ops[i].last))
            return note_found(&sdx_ops[i], i);
    return NULL;
}

void sdx_op_explain_missing(const char *domain, const char *name, int64_t version, char *buffer,
                            size_t size) {
    const char *shown = sdx_domain_shown(domain);
    int newest = sdx_domain_newest(domain);
    if (newest == 0) {
        snprintf(buffer, size,
                 "operator '%s' of domain '%s' version %lld: the domain is not known; supported "
                 "are ai.onnx, ai.onnx.ml, ai.onnx.preview and ai.onnx.preview.training",
                 name, shown, (long long)version);
        return;
    }
    if (version > newest) {
        snprintf(buffer, size,
                 "operator '%s' of domain '%s' version %lld: opset versions 1 to %d of the domain "
                 "are supported",
                 name, shown, (long long)version, newest);
        return;
    }
#if SDX_SELECTED
    const char *lack = SDX_NOT_IN_BUILD;
#else
    const char *lack = "not supported";
#endif
    size_t at = first_entry(domain, name);
    int used = snprintf(buffer, size, "operator '%s' of domain '%s' version %lld is %s", name,
                        shown, (long long)version, lack);
    for (size_t i = at; i < sdx_ops_count && compare(&sdx_ops[i], domain, name) == 0; i++) {
        if (used < 0 || (size_t)used >= size) return;
        int last = sdx_ops[i].last ? sdx_ops[i].last : newest;
        used += snprintf(buffer + used, size - (size_t)used, "%s %d to %d",
                         i == at ? "; supported are versions" : " and", sdx_ops[i].first, last);
    }
}

sdx_dtypes sdx_op_input_types(const sdx_op_def *def, uint32_t input) {
    uint32_t used = 0;
    while (used < SDX_TYPE_SLOTS && def->in_types[used]) used++;
    if (used == 0) return 0;
    return def->in_types[input < used ? input : used - 1];
}
