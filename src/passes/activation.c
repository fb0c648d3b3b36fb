/* activation.c - pass: activations that exporters write out become one node: Gelu (by Erf, and its
 * approximation by Tanh), Swish (x times Sigmoid), HardSigmoid and HardSwish (by Clip). All are a function f
 * of a polynomial in x, brought to a sum and a product: x * (f(p(x)) + c) * factor, in any order of the
 * factors. So the pass looks for f, follows the product as far as it goes, and then checks p. */
#include <math.h>
#include <string.h>

#include "passes/passes.h"

#define DEGREE 3
#define DEPTH 8 /* of nested nodes in a polynomial */

typedef struct poly {
    double c[DEGREE + 1]; /* of x to the power of the index */
} poly;

/* ---- polynomials ---------------------------------------------------------------------------- */

static bool multiply(const poly *a, const poly *b, poly *out) {
    *out = (poly){{0}};
    for (int i = 0; i <= DEGREE; i++)
        for (int k = 0; k <= DEGREE; k++) {
            double product = a->c[i] * b->c[k];
            if (product != 0 && i + k > DEGREE) return false;
            if (product != 0) out->c[i + k] += product;
        }
    return true;
}

/* Before version 7 operands could be placed by attributes; those are left alone. */
static const sdx_node *plain(const sdx_rewrite *r, sdx_id value, const char *op) {
    const sdx_node *node = sdx_maker_if(r, value, op);
    return node && node->version < 7 && node->attr_count ? NULL : node;
}

static bool poly_of(const sdx_rewrite *r, sdx_id value, sdx_id x, int depth, poly *out);

static bool binary(const sdx_rewrite *r, const sdx_node *node, sdx_id x, int depth, poly *out) {
    poly a, b;
    if (!poly_of(r, node->inputs[0], x, depth, &a) || !poly_of(r, node->inputs[1], x, depth, &b))
        return false;
    *out = a;
    switch (node->op_type[0]) {
    case 'M': return multiply(&a, &b, out);
    case 'A':
    case 'S':
        for (int i = 0; i <= DEGREE; i++) out->c[i] += node->op_type[0] == 'A' ? b.c[i] : -b.c[i];
        return true;
    case 'D':
        for (int i = 1; i <= DEGREE; i++)
            if (b.c[i] != 0) return false;
        for (int i = 0; i <= DEGREE; i++) out->c[i] /= b.c[0];
        return b.c[0] != 0;
    default: /* Pow: to 2 or 3 */
        if (b.c[0] != 2 && b.c[0] != 3) return false;
        for (int i = 1; i <= DEGREE; i++)
            if (b.c[i] != 0) return false;
        if (!multiply(&a, &a, out)) return false;
        poly square = *out;
        return b.c[0] == 2 || multiply(&square, &a, out);
    }
}

/* The value as a polynomial in x; false where it is none. */
static bool poly_of(const sdx_rewrite *r, sdx_id value, sdx_id x, int depth, poly *out) {
    static const char *const ops[] = {"Mul", "Add", "Sub", "Div", "Pow"};
    *out = (poly){{0}};
    if (value == x) {
        out->c[1] = 1;
        return true;
    }
    if (sdx_constant_number(r, value, &out->c[0])) return true;
    for (uint32_t i = 0; depth > 0 && i < SDX_COUNT(ops); i++) {
        const sdx_node *node = plain(r, value, ops[i]);
        if (node) return binary(r, node, x, depth - 1, out);
    }
    return false;
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-4 * fabs(b) + 1e-12; }

static bool is_poly(const sdx_rewrite *r, sdx_id value, sdx_id x, double c0, double c1, double c3) {
    poly p;
    return poly_of(r, value, x, DEPTH, &p) && near(p.c[0], c0) && near(p.c[1], c1) &&
           p.c[2] == 0 && near(p.c[3], c3);
}

/* ---- the product around f ---------------------------------------------------------------------- */

typedef struct chain {
    sdx_id f;       /* what f makes */
    sdx_id out;     /* the whole so far */
    sdx_id x;       /* the factor that is no number; SDX_NONE: none yet */
    double factor;
    double added;   /* to f, before the product */
    sdx_id nodes[12];
    uint32_t count;
} chain;

/* A factor that is x itself or x times a number. */
static void take_factor(const sdx_rewrite *r, sdx_id value, chain *c) {
    const sdx_node *node = plain(r, value, "Mul");
    double number;
    c->x = value;
    for (uint32_t i = 0; node && i < 2; i++)
        if (sdx_constant_number(r, node->inputs[i], &number)) {
            c->factor *= number;
            c->x = node->inputs[1 - i];
            return;
        }
    node = plain(r, value, "Div");
    if (!node || !sdx_constant_number(r, node->inputs[1], &number) || number == 0) return;
    c->factor /= number;
    c->x = node->inputs[0];
}

/* One step outward; false where the product ends. */
static bool extend(sdx_rewrite *r, chain *c) {
    sdx_id user = sdx_sole_user(r, c->out);
    if (user == SDX_NONE || c->count == SDX_COUNT(c->nodes)) return false;
    const sdx_node *node = sdx_node_at(r->module, user);
    if (node->input_count != 2 || node->dead || (node->version < 7 && node->attr_count))
        return false;
    bool second = node->inputs[1] == c->out;
    sdx_id other = node->inputs[!second];
    double number;
    bool is_number = sdx_constant_number(r, other, &number);
    if (sdx_node_if(r, user, "Add") && is_number && c->added == 0 && c->x == SDX_NONE)
        c->added = number / c->factor;
    else if (sdx_node_if(r, user, "Div") && !second && is_number && number != 0)
        c->factor /= number;
    else if (sdx_node_if(r, user, "Mul") && is_number)
        c->factor *= number;
    else if (sdx_node_if(r, user, "Mul") && c->x == SDX_NONE)
        take_factor(r, other, c);
    else
        return false;
    c->nodes[c->count++] = user;
    c->out = node->outputs[0];
    return true;
}

/* ---- the functions --------------------------------------------------------------------------- */

/* What a chain amounts to: an operator with at most two attributes. */
typedef struct meaning {
    const char *op;
    sdx_id x;
    const char *names[2];
    float numbers[2];
    const char *text; /* of "approximate" */
} meaning;

static bool is_clip(const sdx_rewrite *r, const sdx_node *node) {
    double low = -INFINITY, high = INFINITY;
    if (node->version < 11) {
        low = (double)sdx_node_float(node, "min", -INFINITY);
        high = (double)sdx_node_float(node, "max", INFINITY);
    } else if (!sdx_constant_number(r, sdx_node_input(node, 1), &low) ||
               !sdx_constant_number(r, sdx_node_input(node, 2), &high)) {
        return false;
    }
    return low == 0 && high == 6;
}

static bool means(const sdx_rewrite *r, const chain *c, sdx_id f, meaning *m) {
    const sdx_node *node = sdx_node_at(r->module, f);
    sdx_id in = node->inputs[0];
    const double root = 0.7978845608028654; /* sqrt(2/pi) */
    poly p;
    *m = (meaning){.x = c->x};
    if (sdx_node_if(r, f, "Clip")) {
        /* Clip(x + 3, 0, 6) / 6, alone or times x */
        const sdx_node *sum = plain(r, in, "Add");
        if (c->added != 0 || !near(c->factor, 1.0 / 6) || !sum || !is_clip(r, node)) return false;
        uint32_t number = sdx_constant_is(r, sum->inputs[1], 3);
        m->x = sum->inputs[!number];
        if (!sdx_constant_is(r, sum->inputs[number], 3)) return false;
        if (c->x != SDX_NONE && c->x != m->x) return false;
        m->op = c->x == SDX_NONE ? "HardSigmoid" : "HardSwish";
        if (c->x == SDX_NONE)
            *m = (meaning){"HardSigmoid", m->x, {"alpha", "beta"}, {1.0f / 6, 0.5f}, NULL};
        return true;
    }
    if (c->x == SDX_NONE) return false;
    if (sdx_node_if(r, f, "Erf") || sdx_node_if(r, f, "Tanh")) {
        bool erf = node->op_type[0] == 'E';
        m->op = "Gelu";
        m->text = erf ? "none" : "tanh";
        return near(c->added, 1) && near(c->factor, 0.5) &&
               (erf ? is_poly(r, in, c->x, 0, sqrt(0.5), 0)
                    : is_poly(r, in, c->x, 0, root, root * 0.044715));
    }
    if (c->added != 0 || c->factor != 1) return false;
    if (sdx_node_if(r, f, "HardSigmoid")) {
        m->op = "HardSwish";
        return in == c->x && near((double)sdx_node_float(node, "alpha", 0.2f), 1.0 / 6) &&
               near((double)sdx_node_float(node, "beta", 0.5f), 0.5);
    }
    if (!poly_of(r, in, c->x, 2, &p) || p.c[0] != 0 || p.c[2] != 0 || p.c[3] != 0) return false;
    *m = (meaning){"Swish", c->x, {"alpha"}, {(float)p.c[1]}, NULL};
    return p.c[1] != 0;
}

static void put_in(sdx_rewrite *r, const chain *c, sdx_id f, const meaning *m) {
    sdx_id from[SDX_COUNT(c->nodes) + 1] = {f};
    sdx_attr attrs[2];
    uint32_t count = 0;
    memcpy(from + 1, c->nodes, c->count * sizeof *from);
    sdx_rewrite_from(r, from, c->count + 1);
    for (uint32_t i = 0; i < 2 && m->names[i]; i++)
        attrs[count++] = sdx_a_float(&r->build, m->names[i], m->numbers[i]);
    if (m->text) attrs[count++] = sdx_a_text(&r->build, "approximate", m->text);
    sdx_id made = sdx_emit(&r->build, m->op, attrs, count, &m->x, 1);
    if (made != SDX_NONE) sdx_supplant(r, c->out, made);
}

/* A scalar may have more dims than x: the result would too. */
static bool same_type(const sdx_rewrite *r, sdx_id a, sdx_id b) {
    return sdx_build_dtype(&r->build, a) == sdx_build_dtype(&r->build, b) &&
           sdx_build_same_shape(&r->build, a, b);
}

static void try_node(sdx_rewrite *r, sdx_id f) {
    const sdx_node *node = sdx_node_at(r->module, f);
    chain c = {.f = node->outputs[0], .out = node->outputs[0], .x = SDX_NONE, .factor = 1};
    chain best;
    meaning m, found = {0};
    do {
        if (means(r, &c, f, &m) && same_type(r, m.x, c.out)) {
            best = c;
            found = m;
        }
    } while (extend(r, &c));
    if (found.op) put_in(r, &best, f, &found);
}

sdx_status sdx_pass_activation(sdx_rewrite *r) {
    static const char *const functions[] = {"Erf", "Tanh", "Sigmoid", "HardSigmoid", "Clip"};
    for (size_t g = 0; g < r->module->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(r->module, (sdx_id)g);
        for (uint32_t i = 0; i < graph->node_count && r->build.status == SDX_STATUS_OK; i++) {
            bool is = false;
            for (uint32_t k = 0; !is && k < SDX_COUNT(functions); k++)
                is = sdx_node_if(r, graph->nodes[i], functions[k]) != NULL;
            if (is && sdx_node_at(r->module, graph->nodes[i])->outputs[0] != SDX_NONE)
                try_node(r, graph->nodes[i]);
        }
    }
    return SDX_STATUS_OK;
}
