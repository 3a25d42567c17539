#include "tests/unit/graph_builder.h"

#include "passes/fqn.h"
#include "schema/onnx_read.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NEST_MAX 16

/* ---- text to bytes ---- */

/* A graph or function that is being written. */
struct level {
    struct pb graph; /* GraphProto or FunctionProto */
    struct pb node;  /* the node at hand: bodies may follow */
    bool has_node, function;
    char attr[64]; /* attribute of the node below that this graph is */
};

struct writer {
    struct pb model, opsets, functions, meta;
    struct level level[NEST_MAX];
    int depth;
    long ir;
    const char *line; /* for messages */
};

static void bad(const struct writer *w, const char *what)
{
    cr_assert(false, "graph text: expected %s in '%s'", what, w->line);
    abort();
}

static void skip(const char **p)
{
    while (**p == ' ')
        (*p)++;
}

/* The text up to one of `stops` or the end. */
static char *take(const char **p, const char *stops)
{
    size_t n = strcspn(*p, stops);
    char *out = strndup(*p, n);
    cr_assert_not_null(out);
    *p += n;
    return out;
}

static bool eat(const char **p, const char *what)
{
    if (strncmp(*p, what, strlen(what)) != 0)
        return false;
    *p += strlen(what);
    return true;
}

static void need(const struct writer *w, const char **p, const char *what)
{
    if (!eat(p, what))
        bad(w, what);
}

static uint64_t dtype_of(const struct writer *w, const char **p)
{
    static const struct {
        const char *name;
        uint64_t id;
    } types[] = {{"f32", 1},  {"u8", 2},   {"i8", 3},   {"i32", 6},  {"i64", 7},
                 {"bool", 9}, {"f16", 10}, {"f64", 11}, {"bf16", 16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (eat(p, types[i].name))
            return types[i].id;
    bad(w, "a type");
    return 0;
}

/* "[2,?,64]"; -1 for "?". Returns how many. */
static int dims_of(const struct writer *w, const char **p, int64_t *dims)
{
    int n = 0;
    need(w, p, "[");
    while (!eat(p, "]")) {
        if (eat(p, "?"))
            dims[n++] = -1;
        else {
            char *end;
            dims[n++] = strtoll(*p, &end, 10);
            if (end == *p || n == 80)
                bad(w, "a dimension");
            *p = end;
        }
        eat(p, ",");
    }
    return n;
}

static int ints_of(const struct writer *w, const char **p, const char *close, int64_t *out)
{
    int n = 0;
    while (!eat(p, close)) {
        char *end;
        out[n++] = strtoll(*p, &end, 10);
        if (end == *p || n == 200)
            bad(w, "an integer");
        *p = end;
        eat(p, ",");
    }
    return n;
}

/* "f32[2,3]" or "i64[2]{1,2}" */
static struct pb tensor_of(const struct writer *w, const char **p, const char *name)
{
    struct pb t = {0};
    int64_t dims[80], data[200];
    uint64_t type = dtype_of(w, p);
    int n = dims_of(w, p, dims);
    for (int i = 0; i < n; i++)
        pb_int(&t, 1, (uint64_t)dims[i]);
    pb_int(&t, 2, type);
    if (eat(p, "{")) {
        struct pb raw = {0};
        int count = ints_of(w, p, "}", data);
        for (int i = 0; i < count; i++)
            for (int j = 0; j < (type == 9 ? 1 : 8); j++) {
                uint8_t byte = (uint8_t)((uint64_t)data[i] >> 8 * j);
                pb_raw(&raw, &byte, 1);
            }
        pb_sub(&t, 9, raw);
    }
    if (name)
        pb_text(&t, 8, name);
    return t;
}

/* "x f32[2,?]" or "x" */
static struct pb info_of(const struct writer *w, const char **p)
{
    struct pb info = {0}, type = {0}, tensor = {0}, shape = {0};
    int64_t dims[80];
    char *name = take(p, " ");
    pb_text(&info, 1, name);
    free(name);
    skip(p);
    uint64_t elem = **p ? dtype_of(w, p) : 1;
    pb_int(&tensor, 1, elem);
    if (**p == '[') {
        int n = dims_of(w, p, dims);
        for (int i = 0; i < n; i++) {
            struct pb dim = {0};
            if (dims[i] < 0)
                pb_text(&dim, 2, "d");
            else
                pb_int(&dim, 1, (uint64_t)dims[i]);
            pb_sub(&shape, 1, dim);
        }
        pb_sub(&tensor, 2, shape);
    }
    pb_sub(&type, 1, tensor);
    pb_sub(&info, 2, type);
    return info;
}

static struct level *top(struct writer *w)
{
    return &w->level[w->depth];
}

static void end_node(struct writer *w)
{
    struct level *l = top(w);
    if (l->has_node)
        pb_sub(&l->graph, l->function ? 7 : 1, l->node);
    l->node = (struct pb){0};
    l->has_node = false;
}

static void add_list(struct pb *p, unsigned field, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, ",");
        pb_bytes(p, field, names, n);
        names += n + (names[n] == ',');
    }
}

static struct pb attribute(struct writer *w, const char *key, const char **p)
{
    struct pb a = {0};
    int64_t v[200];
    pb_text(&a, 1, key);
    if (eat(p, "`")) {
        char *text = take(p, "`");
        need(w, p, "`");
        pb_text(&a, 4, text);
        pb_int(&a, 20, 3);
        free(text);
    } else if (eat(p, "@")) {
        char *text = take(p, " ");
        pb_text(&a, 21, text);
        pb_int(&a, 20, 2);
        free(text);
    } else if (eat(p, "[")) {
        int n = ints_of(w, p, "]", v);
        for (int i = 0; i < n; i++)
            pb_int(&a, 8, (uint64_t)v[i]);
        pb_int(&a, 20, 7);
    } else if (strchr("fiub", **p)) {
        pb_sub(&a, 5, tensor_of(w, p, NULL));
        pb_int(&a, 20, 4);
    } else {
        char *number = take(p, " "), *end;
        if (strchr(number, '.')) {
            float f = strtof(number, &end);
            uint8_t bytes[4];
            memcpy(bytes, &f, 4);
            pb_varint(&a, 2 << 3 | 5);
            pb_raw(&a, bytes, 4);
            pb_int(&a, 20, 1);
        } else {
            pb_int(&a, 3, (uint64_t)strtoll(number, &end, 10));
            pb_int(&a, 20, 2);
        }
        if (end == number || *end)
            bad(w, "a number");
        free(number);
    }
    return a;
}

/* "[name: ]outs = [domain::]Op(ins) key=value ..." */
static void node_line(struct writer *w, const char *p)
{
    struct level *l = top(w);
    struct pb *n = &l->node;
    const char *colon = strstr(p, ": "), *equals = strstr(p, " = ");
    char *name = NULL, *domain = NULL;
    if (!equals)
        bad(w, "a node");
    if (colon && colon < equals) {
        name = strndup(p, (size_t)(colon - p));
        p = colon + 2;
    }
    char *outs = strndup(p, (size_t)(equals - p));
    p = equals + 3;
    char *op = take(&p, "("), *sep = strstr(op, "::");
    need(w, &p, "(");
    char *ins = take(&p, ")");
    need(w, &p, ")");
    if (sep) {
        domain = strndup(op, (size_t)(sep - op));
        memmove(op, sep + 2, strlen(sep + 2) + 1);
    }
    char *overload = strchr(op, ':');
    if (overload)
        *overload++ = '\0';
    add_list(n, 1, ins);
    add_list(n, 2, outs);
    if (name)
        pb_text(n, 3, name);
    pb_text(n, 4, op);
    if (domain)
        pb_text(n, 7, domain);
    if (overload)
        pb_text(n, 8, overload);
    for (skip(&p); *p; skip(&p)) {
        char *key = take(&p, "=");
        need(w, &p, "=");
        if (strncmp(key, "meta:", 5) == 0) {
            need(w, &p, "`");
            char *text = take(&p, "`");
            need(w, &p, "`");
            pb_entry(n, 9, key + 5, text);
            free(text);
        } else {
            pb_sub(n, 5, attribute(w, key, &p));
        }
        free(key);
    }
    l->has_node = true;
    free(name);
    free(domain);
    free(outs);
    free(op);
    free(ins);
}

static void opset_of(struct pb *to, unsigned field, const char *domain, uint64_t version)
{
    struct pb o = {0};
    if (strcmp(domain, "-") != 0)
        pb_text(&o, 1, domain);
    pb_int(&o, 2, version);
    pb_sub(to, field, o);
}

static struct level *open_level(struct writer *w)
{
    if (w->depth + 1 == NEST_MAX)
        bad(w, "fewer nested graphs");
    struct level *l = &w->level[++w->depth];
    *l = (struct level){0};
    return l;
}

static void open_body(struct writer *w, const char *attr)
{
    if (!top(w)->has_node)
        bad(w, "a node that has the body");
    struct level *l = open_level(w);
    snprintf(l->attr, sizeof l->attr, "%s", attr);
    pb_text(&l->graph, 2, attr);
}

/* "local::Linear(x,w) -> (y) attrs" */
static void open_function(struct writer *w, const char *p)
{
    struct level *l = open_level(w);
    const char *sep = strstr(p, "::");
    if (!sep)
        bad(w, "domain::name");
    char *domain = strndup(p, (size_t)(sep - p));
    p = sep + 2;
    char *name = take(&p, "(");
    need(w, &p, "(");
    char *ins = take(&p, ")");
    need(w, &p, ") -> (");
    char *outs = take(&p, ")");
    need(w, &p, ")");
    skip(&p);
    l->function = true;
    char *overload = strchr(name, ':');
    if (overload) {
        *overload++ = '\0';
        pb_text(&l->graph, 13, overload);
    }
    pb_text(&l->graph, 1, name);
    add_list(&l->graph, 4, ins);
    add_list(&l->graph, 5, outs);
    add_list(&l->graph, 6, p);
    opset_of(&l->graph, 9, "-", 17);
    opset_of(&l->graph, 9, domain, 1);
    pb_text(&l->graph, 10, domain);
    free(domain);
    free(name);
    free(ins);
    free(outs);
}

static void close_level(struct writer *w)
{
    if (w->depth == 0)
        bad(w, "body or function before end");
    end_node(w);
    struct level *l = &w->level[w->depth--];
    if (l->function) {
        pb_sub(&w->functions, 25, l->graph);
        return;
    }
    struct pb a = {0};
    pb_text(&a, 1, l->attr);
    pb_sub(&a, 6, l->graph);
    pb_int(&a, 20, 5);
    pb_sub(&top(w)->node, 5, a);
}

static void model_line(struct writer *w, const char *p)
{
    if (eat(&p, "ir ")) {
        w->ir = strtol(p, NULL, 10);
    } else if (eat(&p, "producer ")) {
        pb_text(&w->meta, 2, p);
    } else {
        need(w, &p, "opset ");
        char *domain = take(&p, " ");
        opset_of(&w->opsets, 8, domain, strtoull(p, NULL, 10));
        free(domain);
    }
}

static bool is(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

static void one_line(struct writer *w, const char *p)
{
    w->line = p;
    skip(&p);
    struct pb *g = &top(w)->graph;
    if (*p == '\0' || *p == '#')
        return;
    if (strstr(p, " = ")) {
        end_node(w);
        node_line(w, p);
    } else if (is(p, "ir ") || is(p, "producer ") || is(p, "opset ")) {
        model_line(w, p);
    } else if (eat(&p, "in ")) {
        pb_sub(g, 11, info_of(w, &p));
    } else if (eat(&p, "out ")) {
        pb_sub(g, 12, info_of(w, &p));
    } else if (eat(&p, "info ")) {
        pb_sub(g, 13, info_of(w, &p));
    } else if (eat(&p, "param ")) {
        char *name = take(&p, " ");
        skip(&p);
        pb_sub(g, 5, tensor_of(w, &p, name));
        free(name);
    } else if (eat(&p, "body ")) {
        open_body(w, p);
    } else if (eat(&p, "function ")) {
        end_node(w);
        open_function(w, p);
    } else if (strcmp(p, "end") == 0) {
        close_level(w);
    } else {
        bad(w, "a statement");
    }
}

struct pb graph_bytes(const char *text)
{
    struct writer w = {.ir = 8};
    pb_text(&w.level[0].graph, 2, "g");
    while (*text) {
        size_t n = strcspn(text, "\n");
        char *line = strndup(text, n);
        cr_assert_not_null(line);
        one_line(&w, line);
        free(line);
        text += n + (text[n] == '\n');
    }
    w.line = "(the end)";
    if (w.depth)
        bad(&w, "end");
    end_node(&w);
    pb_int(&w.model, 1, (uint64_t)w.ir);
    if (w.meta.n)
        pb_raw(&w.model, w.meta.b, w.meta.n);
    if (w.opsets.n)
        pb_raw(&w.model, w.opsets.b, w.opsets.n);
    else
        opset_of(&w.model, 8, "-", 17);
    pb_sub(&w.model, 7, w.level[0].graph);
    if (w.functions.n)
        pb_raw(&w.model, w.functions.b, w.functions.n);
    pb_free(&w.meta);
    pb_free(&w.opsets);
    pb_free(&w.functions);
    return w.model;
}

/* ---- bench ---- */

void bench_init(struct bench *b)
{
    *b = (struct bench){.o = {.max_steps = 1000000}};
    diag_init(&b->d);
}

static void drop_results(struct bench *b)
{
    if (b->planned)
        plan_free(&b->p);
    if (b->passed) {
        walk_free(&b->s.walk);
        facts_free(&b->s.facts);
        modules_free(&b->s.modules);
        names_free(&b->s.scope_index);
        free(b->s.scopes);
        free(b->s.mms);
        arena_free(&b->s.arena);
        arena_free(&b->p.arena);
    }
    b->planned = b->passed = false;
    diag_free(&b->d);
    diag_init(&b->d);
}

void bench_free(struct bench *b)
{
    drop_results(b);
    if (b->read) {
        ir_model_free(&b->m);
        pb_free(&b->bytes);
    }
    diag_free(&b->d);
    for (uint32_t i = 0; i < b->n_lists; i++)
        free((void *)(uintptr_t)b->lists[i].s);
    for (uint32_t i = 0; i < b->n_shown; i++)
        free(b->shown[i]);
    free(b->text);
}

void bench_add(struct bench *b, const char *fmt, ...)
{
    char *line;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&line, fmt, ap);
    va_end(ap);
    cr_assert_geq(n, 0);
    cr_assert(!b->read, "the model was read already");
    if (b->n_text + (size_t)n + 2 > b->cap_text) {
        b->cap_text = 2 * (b->n_text + (size_t)n + 2);
        b->text = realloc(b->text, b->cap_text);
    }
    cr_assert_not_null(b->text);
    memcpy(b->text + b->n_text, line, (size_t)n);
    b->n_text += (size_t)n;
    b->text[b->n_text++] = '\n';
    b->text[b->n_text] = '\0';
    free(line);
}

static uint32_t keep_list(struct bench *b, const char *list, struct str **out)
{
    uint32_t n = 0;
    *out = &b->lists[b->n_lists];
    while (*list) {
        cr_assert_lt(b->n_lists, sizeof b->lists / sizeof *b->lists);
        char *item = take(&list, ",");
        b->lists[b->n_lists++] = str_of(item);
        n++;
        eat(&list, ",");
    }
    return n;
}

void bench_fqns(struct bench *b, const char *list)
{
    b->o.n_fqns = keep_list(b, list, &b->o.fqns);
}

void bench_blocks(struct bench *b, const char *list)
{
    b->o.n_blocks = keep_list(b, list, &b->o.blocks);
}

void bench_mm_ops(struct bench *b, const char *list)
{
    b->o.n_mm_ops = keep_list(b, list, &b->o.mm_ops);
}

void bench_force(struct bench *b, int64_t k, int64_t n)
{
    b->o.force = b->shapes;
    b->shapes[b->o.n_force++] = (struct mm_shape){k, n};
}

void bench_read(struct bench *b)
{
    if (b->read)
        return;
    struct pb bytes = graph_bytes(b->text ? b->text : "");
    uint8_t *exact = malloc(bytes.n); /* no room after it: a byte read too far is caught */
    cr_assert_not_null(exact);
    memcpy(exact, bytes.b, bytes.n);
    free(bytes.b);
    b->bytes = (struct pb){exact, bytes.n};
    b->read = true;
    ir_model_init(&b->m, &b->d, 0);
    int rc = onnx_read(&b->m, b->bytes.b, b->bytes.n, NULL, &b->d);
    cr_assert_eq(rc, 0, "not read: %s", b->d.n ? b->d.items[0].message : "");
    rc = ir_verify(&b->m, &b->d);
    cr_assert_eq(rc, 0, "not valid: %s", b->d.n ? b->d.items[0].message : "");
}

int bench_plan(struct bench *b)
{
    bench_read(b);
    drop_results(b);
    b->planned = true;
    return plan_make(&b->p, &b->m, &b->o, &b->d);
}

int bench_passes(struct bench *b, int (*last)(struct state *s))
{
    static int (*const passes[])(struct state *) = {pass_walk,   pass_scope,   pass_mm,     pass_modules,
                                                    pass_linear, pass_order,   pass_block,  pass_forced,
                                                    pass_policy, pass_summary, pass_regions};
    bench_read(b);
    drop_results(b);
    b->passed = true;
    b->p = (struct plan){.blocks_how = "auto", .options = b->o};
    arena_init(&b->p.arena, 0);
    b->s = (struct state){.m = &b->m, .o = &b->o, .plan = &b->p, .d = &b->d};
    arena_init(&b->s.arena, 0);
    names_init(&b->s.scope_index);
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        int rc = passes[i](&b->s);
        if (rc || passes[i] == last)
            return rc;
    }
    cr_assert(false, "no such pass");
    return 0;
}

/* ---- what came out, as text ---- */

struct out {
    char *text;
    size_t n;
};

static void put(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct out *o, const char *fmt, ...)
{
    char *part;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&part, fmt, ap);
    va_end(ap);
    cr_assert_geq(n, 0);
    o->text = realloc(o->text, o->n + (size_t)n + 1);
    cr_assert_not_null(o->text);
    memcpy(o->text + o->n, part, (size_t)n + 1);
    o->n += (size_t)n;
    free(part);
}

static const char *shown(struct bench *b, struct out *o)
{
    cr_assert_lt(b->n_shown, sizeof b->shown / sizeof *b->shown);
    if (!o->text)
        put(o, "%s", "");
    b->shown[b->n_shown++] = o->text;
    return o->text;
}

static void put_dim(struct out *o, int64_t d)
{
    if (d < 0)
        put(o, "?");
    else
        put(o, "%" PRId64, d);
}

static void put_str(struct out *o, struct str s)
{
    if (s.n)
        put(o, "%.*s", STR_ARG(s));
    else
        put(o, "-");
}

static void put_name(struct out *o, const struct bench *b, const struct plan_row *r)
{
    const struct ir_node *n = &b->m.nodes[r->node];
    if (!str_is(r->graph, "-"))
        put(o, "%.*s|", STR_ARG(r->graph));
    put_str(o, ir_node_label(&b->m, n));
}

static const char *const evidence_names[] = {"-", "param", "metadata", "scope", "bias", "neighbour"};

static void put_column(struct out *o, const struct bench *b, const struct plan_row *r, char column)
{
    switch (column) {
    case 'n':
        put_name(o, b, r);
        break;
    case 'f':
        put_str(o, r->fqn);
        break;
    case 'e':
        put(o, "%s", evidence_names[r->evidence]);
        break;
    case 's':
        put_dim(o, r->rhs.k);
        put(o, "x");
        put_dim(o, r->rhs.n);
        break;
    case 'b':
        if (r->block == IR_NONE)
            put(o, "-");
        else
            put(o, "%.*s#%u", STR_ARG(b->p.blocks[r->block].fqn), r->call);
        break;
    case 'p':
        put(o, "%s",
            r->policy == POLICY_SAVE        ? "save"
            : r->policy == POLICY_RECOMPUTE ? "recompute"
                                            : "none");
        break;
    default:
        put_str(o, r->reason);
        break;
    }
}

const char *bench_columns(struct bench *b, const char *columns)
{
    struct out o = {0};
    for (uint32_t i = 0; i < b->p.n_rows; i++)
        for (const char *c = columns; *c; c++) {
            put_column(&o, b, &b->p.rows[i], *c);
            put(&o, "%s", c[1] ? " " : "\n");
        }
    return shown(b, &o);
}

const char *bench_rows(struct bench *b)
{
    return bench_columns(b, "nfesbpr");
}

const char *bench_linears(struct bench *b)
{
    struct out o = {0};
    for (uint32_t i = 0; i < b->p.n_linears; i++) {
        const struct plan_linear *l = &b->p.linears[i];
        put_str(&o, l->fqn);
        put(&o, " ");
        put_str(&o, l->weight);
        put(&o, " ");
        put_dim(&o, l->in);
        put(&o, " ");
        put_dim(&o, l->out);
        put(&o, " ");
        put_str(&o, l->block == IR_NONE ? (struct str){0} : b->p.blocks[l->block].fqn);
        put(&o, " %s\n", evidence_names[l->evidence]);
    }
    return shown(b, &o);
}

const char *bench_block_list(struct bench *b)
{
    struct out o = {0};
    for (uint32_t i = 0; i < b->p.n_blocks; i++)
        put(&o, "%.*s %u\n", STR_ARG(b->p.blocks[i].fqn), b->p.blocks[i].calls);
    return shown(b, &o);
}

const char *bench_forced(struct bench *b)
{
    struct out o = {0};
    for (uint32_t i = 0; i < b->p.n_blocks; i++)
        for (uint32_t j = 0; j < b->p.blocks[i].n_forced; j++) {
            const struct plan_forced *f = &b->p.blocks[i].forced[j];
            put(&o, "%.*s: ", STR_ARG(b->p.blocks[i].fqn));
            put_dim(&o, f->rhs.k);
            put(&o, "x");
            put_dim(&o, f->rhs.n);
            put(&o, " (");
            put_str(&o, f->fqn);
            put(&o, ")%s%.*s\n", f->also.n ? " also " : "", STR_ARG(f->also));
        }
    return shown(b, &o);
}

static void put_values(struct out *o, const struct bench *b, const uint32_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        put(o, "%s%.*s", i ? "," : "", STR_ARG(ir_value_name(&b->m, list[i])));
    if (n == 0)
        put(o, "-");
}

const char *bench_regions(struct bench *b)
{
    struct out o = {0};
    for (uint32_t i = 0; i < b->p.n_regions; i++) {
        const struct plan_region *r = &b->p.regions[i];
        put(&o, "%.*s#%u: in ", STR_ARG(b->p.blocks[r->block].fqn), r->call);
        put_values(&o, b, r->inputs, r->n_inputs);
        put(&o, " out ");
        put_values(&o, b, r->outputs, r->n_outputs);
        put(&o, "\n");
    }
    return shown(b, &o);
}

const char *bench_neighbours(struct bench *b)
{
    struct out o = {0};
    cr_assert_eq(plan_neighbours(&b->p, &b->m, &b->d), 0);
    for (uint32_t i = 0; i < b->p.n_neighbours; i++) {
        const struct plan_neighbour *n = &b->p.neighbours[i];
        const struct ir_node *node = &b->m.nodes[n->node];
        put(&o, "%.*s %s %s %.*s#%u%s%s\n", STR_ARG(ir_value_name(&b->m, ir_node_output(&b->m, node, 0))),
            n->policy == POLICY_SAVE ? "save" : "recompute", n->reason, STR_ARG(b->p.blocks[n->block].fqn),
            n->call, n->shared ? " shared" : "", n->bare ? " bare" : "");
    }
    return shown(b, &o);
}

const char *bench_messages(struct bench *b, enum diag_level level)
{
    struct out o = {0};
    for (size_t i = 0; i < b->d.n; i++)
        if (b->d.items[i].level == level)
            put(&o, "%s\n", b->d.items[i].message);
    return shown(b, &o);
}

uint32_t bench_value(const struct bench *b, const char *name)
{
    for (uint32_t v = 0; v < b->m.n_values; v++)
        if (str_is(ir_value_name(&b->m, v), name))
            return v;
    cr_assert(false, "no value '%s'", name);
    return IR_NONE;
}
