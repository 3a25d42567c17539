/* What must hold of any model, and of any bytes that are none. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ways to decide that are tried, by turns. */
static void choose(struct sactag_options *o, struct sactag_write_options *w, size_t choice)
{
    static const char *const gate[] = {"moe.router.gate"}, *const several[] = {"a", "layers.0.fc", "wq"},
                             *const part[] = {"gate"}, *const any[] = {"**.w?", "*"},
                             *const whole[] = {"whole"}, *const two[] = {"*.*", "model.layers.*"},
                             *const ops[] = {"Relu", "custom:Op"};
    static const struct sactag_shape shapes[] = {{4, 4}, {64, 8}};

    sactag_options_init(o);
    sactag_write_options_init(w);
    w->external = SACTAG_EXTERNAL_KEEP;
    o->fqns = gate, o->n_fqns = 1;
    switch (choice % FUZZ_CHOICES) {
    case 1:
        o->fqns = several, o->n_fqns = 3, o->blocks = whole, o->n_blocks = 1;
        break;
    case 2:
        o->fqns = part, o->profile = SACTAG_PROFILE_TITAN;
        break;
    case 3:
        o->fqns = any, o->n_fqns = 2, o->match = SACTAG_MATCH_GLOB;
        break;
    case 4:
        o->mm_rule = SACTAG_MM_TORCH;
        break;
    case 5:
        o->blocks = two, o->n_blocks = 2, o->order = SACTAG_ORDER_FILE;
        break;
    case 6:
        o->n_fqns = 0, o->force_shapes = shapes, o->n_force_shapes = 2, o->strict = true;
        break;
    case 7:
        o->n_fqns = 0, o->mm_ops = ops, o->n_mm_ops = 2;
        break;
    case 8:
        o->n_fqns = 0, o->specialize = true;
        break;
    case 9:
        o->n_fqns = 0, w->tag = SACTAG_TAG_ALL;
        break;
    case 10:
        o->fqns = part, o->profile = SACTAG_PROFILE_TITAN, w->tag = SACTAG_TAG_ALL;
        break;
    case 11:
        o->n_fqns = 0, w->set_ir_version = 12;
        break;
    default:
        break;
    }
}

/* `times`: what is made of an input may be a little larger. */
static struct sactag_limits limits_for(size_t n, unsigned times)
{
    return (struct sactag_limits){.max_steps = (uint64_t)FUZZ_STEPS * times,
                                  .max_memory =
                                      (FUZZ_LIMIT_BASE + (uint64_t)n * FUZZ_LIMIT_PER_BYTE) * times};
}

static void printable(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        must((unsigned char)s[i] >= 32 && s[i] != 127);
}

static const char *error_text(const sactag_diag *d)
{
    for (size_t i = 0; i < sactag_diag_count(d); i++)
        if (sactag_diag_get(d, i).level == SACTAG_ERROR)
            return sactag_diag_get(d, i).text;
    return "";
}

void fuzz_messages(const sactag_diag *d, int status)
{
    bool error = false;

    must(status <= 0 && status != -1 && status >= SACTAG_EMEM);
    for (size_t i = 0; i < sactag_diag_count(d); i++) {
        struct sactag_message m = sactag_diag_get(d, i);
        error |= m.level == SACTAG_ERROR;
        must(m.text && m.text[0]);
        printable(m.text, strlen(m.text));
        printable(m.node ? m.node : "", m.node ? strlen(m.node) : 0);
    }
    must(!status || error);
    if (status && getenv("FUZZ_SAY"))
        fprintf(stderr, "%d: %s\n", status, error_text(d));
}

static sactag_diag *diag(void)
{
    sactag_diag *d = sactag_diag_new();
    must(d);
    return d;
}

/* A plan as text that has no place for what tagging may change. None when the model tells of two taggings,
 * which nobody could undo: then it has no digest. */
static struct fuzz_text plan_text(const sactag_plan *p, sactag_diag *d)
{
    struct fuzz_text t = {0};
    int status = sactag_plan_to_json(p, NULL, fuzz_put, &t, d);
    must(status == 0 || (status == SACTAG_EINPUT && t.n == 0));
    return t;
}

static bool same(const void *a, size_t n, const void *b, size_t m)
{
    return n == m && (n == 0 || memcmp(a, b, n) == 0);
}

struct subject {
    const uint8_t *bytes; /* as given, */
    size_t n;
    uint8_t *bare; /* and without tags that were there */
    size_t n_bare;
    const struct sactag_options *options;
    struct fuzz_text plan; /* what was decided */
};

/* `tagged` was made from the subject with `w`. */
static void look_at_tagged(const struct subject *s, const void *tagged, size_t n,
                           const struct sactag_write_options *w)
{
    const struct sactag_limits limits = limits_for(n, 2);
    sactag_diag *d = diag();
    sactag_model *m;
    sactag_plan *p, *tags;
    void *again = NULL, *stripped = NULL;
    size_t n_again = 0, n_stripped = 0;
    sactag_problems *problems;

    must(sactag_open_buffer(&m, tagged, n, &limits, d) == 0);
    must(sactag_read_tags(&tags, m, d) == 0);
    sactag_plan_free(tags);
    if (s->options->specialize) { /* which is no longer the same graph */
        sactag_close(m);
        sactag_diag_free(d);
        return;
    }
    must(sactag_strip_buffer(m, &stripped, &n_stripped, NULL, d) == 0);
    must(same(stripped, n_stripped, s->bare, s->n_bare));
    must(sactag_decide(&p, m, s->options, d) == 0);
    struct fuzz_text text = plan_text(p, d);
    if (w->set_ir_version == 0) /* which is in the text */
        must(same(text.s, text.n, s->plan.s, s->plan.n));
    must(sactag_tag_buffer(m, p, &again, &n_again, w, d) == 0);
    must(same(again, n_again, tagged, n));
    if (sactag_check(&problems, m, s->options, d) == 0) {
        must(sactag_problems_count(problems) == 0);
        sactag_problems_free(problems);
    }
    fuzz_messages(d, 0);
    free(again), free(stripped);
    fuzz_text_free(&text);
    sactag_plan_free(p);
    sactag_close(m);
    sactag_diag_free(d);
}

static void print_all(sactag_model *m, const sactag_plan *p, sactag_diag *d)
{
    struct fuzz_text t = {0};
    char digest[33];

    must(sactag_dump_ir(m, fuzz_put, &t, d) == 0);
    for (size_t i = 0; i < t.n; i++)
        must(t.s[i] == '\n' || ((unsigned char)t.s[i] >= 32 && t.s[i] != 127));
    if (p)
        must(sactag_dot(m, p, fuzz_put, &t, d) == 0);
    fuzz_text_free(&t);
    int status = sactag_digest(m, digest, d);
    must(status == 0 || status == SACTAG_EINPUT || status == SACTAG_EMEM);
}

static void decide_and_tag(struct subject *s, sactag_model *m, unsigned carriers,
                           struct sactag_write_options *w)
{
    sactag_diag *d = diag();
    sactag_plan *p = NULL;
    int status = sactag_decide(&p, m, s->options, d);

    fuzz_messages(d, status);
    must((status == 0) == (p != NULL));
    print_all(m, p, d);
    if (p)
        s->plan = plan_text(p, d);
    must(!s->bare || !p || s->plan.n);
    for (unsigned c = 0; p && c < 3; c++) {
        void *tagged = NULL;
        size_t n = 0;
        if (!(carriers >> c & 1))
            continue;
        w->carrier = (enum sactag_carrier)c;
        status = sactag_tag_buffer(m, p, &tagged, &n, w, d);
        fuzz_messages(d, status);
        must(s->bare || status);
        if (status == 0)
            look_at_tagged(s, tagged, n, w);
        free(tagged);
    }
    fuzz_text_free(&s->plan);
    sactag_plan_free(p);
    sactag_diag_free(d);
}

static void look_at_problems(sactag_problems *problems)
{
    for (size_t i = 0; i < sactag_problems_count(problems); i++) {
        struct sactag_problem x = sactag_problems_get(problems, i);
        must(x.text.n && sactag_problem_name(x.kind)[0]);
        printable(x.text.s, x.text.n);
    }
    sactag_problems_free(problems);
}

/* What the file itself says of tags, whoever wrote them. */
static void look_at_tags(struct subject *s, sactag_model *m)
{
    sactag_diag *d = diag();
    sactag_plan *p;
    sactag_problems *problems;
    void *bare = NULL;
    int status = sactag_read_tags(&p, m, d);

    fuzz_messages(d, status);
    if (status == 0) {
        struct fuzz_text text = plan_text(p, d);
        fuzz_text_free(&text);
        sactag_plan_free(p);
    }
    status = sactag_check(&problems, m, NULL, d);
    fuzz_messages(d, status);
    if (status == 0)
        look_at_problems(problems);
    sactag_diag_clear(d);
    status = sactag_decide_tagged(&p, m, NULL, d);
    fuzz_messages(d, status);
    if (status == 0) {
        sactag_changes *c;
        must(sactag_diff(&c, p, p, d) == 0);
        must(sactag_changes_summary(c).same == sactag_plan_count(p));
        sactag_changes_free(c);
        sactag_plan_free(p);
    }
    status = sactag_strip_buffer(m, &bare, &s->n_bare, NULL, d);
    fuzz_messages(d, status);
    s->bare = bare;
    if (status == 0) {
        struct sactag_info info;
        sactag_get_info(m, &info);
        must(info.tagged || same(bare, s->n_bare, s->bytes, s->n));
    }
    sactag_diag_free(d);
}

void fuzz_model(const uint8_t *bytes, size_t n, unsigned carriers, size_t choice)
{
    const struct sactag_limits limits = limits_for(n, 1);
    struct fuzz_bound bound = fuzz_begin();
    struct sactag_options o;
    struct sactag_write_options w;
    struct subject s = {.bytes = bytes, .n = n, .options = &o};
    sactag_diag *d = diag();
    sactag_model *m = NULL;
    int status = sactag_open_buffer(&m, bytes, n, &limits, d);

    fuzz_messages(d, status);
    must((status == 0) == (m != NULL));
    if (m) {
        choose(&o, &w, choice);
        look_at_tags(&s, m);
        decide_and_tag(&s, m, carriers, &w);
    }
    free(s.bare);
    sactag_close(m);
    sactag_diag_free(d);
    fuzz_end(bound, n);
}
