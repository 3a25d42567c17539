/* Opening a model: which format it has, mapping or borrowing its bytes, reading it into the IR. */
#include "lib/model.h"

#include "schema/onnx_read.h"
#include "schema/pt2_read.h"

#include <stdlib.h>

/* No graph is nested deeper than its nodes can be numbered, and this times eight still is a number. */
#define DEPTH_MOST (UINT32_MAX / 8)

struct diag *model_reports_to(sactag_model *m, sactag_diag *d)
{
    m->ir.diag = diag_of(d);
    m->ir.arena.failed = false;
    return m->ir.diag;
}

int model_reported(sactag_model *m, int e)
{
    if (!e && m->ir.arena.failed)
        e = diag_nomem(m->ir.diag);
    m->ir.diag = NULL; /* the caller's may be gone before the next call */
    return e;
}

static size_t memory_limit(uint64_t graph_bytes)
{
    const uint64_t most = (SIZE_MAX - SACTAG_MEMORY_BASE) / SACTAG_MEMORY_PER_BYTE;

    return graph_bytes > most ? SIZE_MAX : (size_t)graph_bytes * SACTAG_MEMORY_PER_BYTE + SACTAG_MEMORY_BASE;
}

/* What the file holds besides tensors. */
static uint64_t graph_bytes(const struct ir_model *m)
{
    uint64_t n = m->size;

    if (m->format == IR_PT2) {
        n = 0;
        for (uint32_t i = 0; i < pt2_of(m)->n_programs; i++)
            n += pt2_of(m)->programs[i].text.n;
    }
    for (size_t i = 0; i < m->n_data; i++)
        n -= m->data[i].len;
    return n;
}

static int read_bytes(sactag_model *m, const struct sactag_limits *l, struct diag *d)
{
    if (pt2_looks_like(m->bytes, m->size)) {
        struct pt2_limits limits = {.max_depth = l->max_depth, .max_nodes = l->max_nodes};
        return pt2_read(&m->ir, m->bytes, m->size, &limits, d);
    }
    struct onnx_limits limits = {.max_depth = l->max_depth, .max_nodes = l->max_nodes, .or_plan = m->or_plan};
    return onnx_read(&m->ir, m->bytes, m->size, &limits, d);
}

static int read_model(sactag_model *m, const struct sactag_limits *l, struct diag *d)
{
    ir_model_init(&m->ir, d, l->max_memory ? (size_t)l->max_memory : memory_limit(m->size));
    m->max_depth = l->max_depth <= DEPTH_MOST ? l->max_depth : DEPTH_MOST;
    m->max_steps = l->max_steps ? l->max_steps : SACTAG_MAX_STEPS;
    int e = read_bytes(m, l, d);
    if (!e && !l->max_memory) /* now it is known how much of the file was tensors */
        m->ir.arena.limit = memory_limit(graph_bytes(&m->ir));
    return e;
}

/* Takes over `m`, whose bytes are set. */
static int finish_open(sactag_model **out, sactag_model *m, const struct sactag_limits *limits,
                       struct diag *d)
{
    static const struct sactag_limits defaults = {0};
    int e = read_model(m, limits ? limits : &defaults, d);

    e = model_reported(m, e);
    if (e)
        sactag_close(m);
    else
        *out = m;
    return e;
}

static sactag_model *new_model(struct diag *d)
{
    sactag_model *m = calloc(1, sizeof *m);

    if (!m)
        diag_nomem(d);
    return m;
}

/* Takes over `m`, whose file has been opened with the result `e`. */
static int open_mapped(sactag_model **out, sactag_model *m, const struct sactag_limits *limits, int e,
                       struct diag *d)
{
    if (e) {
        file_in_close(&m->file);
        free(m);
        return e;
    }
    m->bytes = m->file.bytes;
    m->size = m->file.size;
    e = finish_open(out, m, limits, d);
    if (e == 0 && (e = file_in_whole(&m->file, d)) != 0) {
        *out = NULL;
        sactag_close(m);
    }
    return e;
}

int model_open_file(sactag_model **out, struct file_in *file, const struct sactag_limits *limits,
                    struct diag *d)
{
    sactag_model *m = new_model(d);

    *out = NULL;
    if (!m) {
        file_in_close(file);
        return SACTAG_EMEM;
    }
    m->file = *file;
    m->or_plan = true;
    return open_mapped(out, m, limits, 0, d);
}

int sactag_open(sactag_model **out, const char *path, const struct sactag_limits *limits, sactag_diag *d)
{
    sactag_model *m = new_model(diag_of(d));

    *out = NULL;
    if (!m)
        return SACTAG_EMEM;
    return open_mapped(out, m, limits, file_in_open(&m->file, path, diag_of(d)), diag_of(d));
}

int sactag_open_fd(sactag_model **out, int fd, const char *name, const struct sactag_limits *limits,
                   sactag_diag *d)
{
    sactag_model *m = new_model(diag_of(d));

    *out = NULL;
    if (!m)
        return SACTAG_EMEM;
    return open_mapped(out, m, limits, file_in_fd(&m->file, fd, name, diag_of(d)), diag_of(d));
}

int sactag_open_buffer(sactag_model **out, const void *bytes, size_t n, const struct sactag_limits *limits,
                       sactag_diag *d)
{
    sactag_model *m = new_model(diag_of(d));

    *out = NULL;
    if (!m)
        return SACTAG_EMEM;
    m->bytes = n ? bytes : (const uint8_t *)"";
    m->size = n;
    return finish_open(out, m, limits, diag_of(d));
}

void sactag_close(sactag_model *m)
{
    if (!m)
        return;
    ir_model_free(&m->ir);
    if (m->file.bytes)
        file_in_close(&m->file);
    free(m);
}

void sactag_get_info(const sactag_model *m, struct sactag_info *out)
{
    const struct ir_model *ir = &m->ir;

    *out = (struct sactag_info){
        .format = ir->format == IR_PT2 ? "pt2" : "onnx",
        .ir_version = ir->ir_version,
        .producer = {ir->producer.s, ir->producer.n},
        .producer_version = {ir->producer_version.s, ir->producer_version.n},
        .opset = ir_opset(ir, ""),
        .bytes = m->size,
        .nodes = ir->n_nodes,
        .graphs = ir->n_graphs,
        .tagged = ir_meta(ir, "sac.plan") != NULL,
        .external_data = ir->n_external > 0,
    };
}
