/* Eight threads use the library at the same time, each on models of its own, and learn what one thread alone
 * learnt:
 *
 *     threads MODEL...
 *
 * Of each model: what the plan says (JSON, graph), the tagged bytes, in memory and as a file, what tags tell,
 * the stripped bytes, the comparison with another policy, the check, the digest, and all messages. To be
 * built with -fsanitize=thread. The last line is "N passed, M failed": one for each model and thread. */
#include <inttypes.h>
#include <pthread.h>
#include <sactag.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8 };

/* ---- what was learnt, as one text */

struct record {
    char *s;
    size_t n, cap;
};

static void add(struct record *r, const void *bytes, size_t n)
{
    if (r->n + n > r->cap) {
        r->cap = 2 * (r->n + n);
        r->s = realloc(r->s, r->cap);
        if (!r->s)
            abort();
    }
    memcpy(r->s + r->n, bytes, n);
    r->n += n;
}

static int put(void *ctx, const char *text, size_t n)
{
    add(ctx, text, n);
    return 0;
}

static void add_status(struct record *r, const char *what, int status)
{
    char line[80];
    add(r, line, (size_t)snprintf(line, sizeof line, "%s: %d\n", what, status));
}

static void add_messages(struct record *r, sactag_diag *d)
{
    char text[2000];
    for (size_t i = 0; i < sactag_diag_count(d); i++) {
        struct sactag_message m = sactag_diag_get(d, i);
        sactag_message_text(text, sizeof text, &m);
        add(r, text, strlen(text));
    }
    sactag_diag_clear(d);
}

/* ---- learning */

static void compare(struct record *r, const sactag_plan *p, sactag_model *m, sactag_diag *d)
{
    static const struct sactag_shape shapes[] = {{64, 8}, {32, 32}, {64, 64}, {16, 16}};
    struct sactag_options o;
    sactag_plan *other = NULL;
    sactag_changes *c = NULL;
    sactag_options_init(&o);
    o.force_shapes = shapes;
    o.n_force_shapes = sizeof shapes / sizeof *shapes;
    int e = sactag_decide(&other, m, &o, d);
    if (!e)
        e = sactag_diff(&c, p, other, d);
    add_status(r, "diff", e);
    for (size_t i = 0; c && i < sactag_changes_count(c); i++) {
        struct sactag_change x = sactag_changes_get(c, i);
        add(r, sactag_change_name(x.kind), strlen(sactag_change_name(x.kind)));
        add(r, x.cause.s ? x.cause.s : "", x.cause.n);
    }
    sactag_changes_free(c);
    sactag_plan_free(other);
}

static void look_at_tagged(struct record *r, const void *bytes, size_t n, sactag_diag *d)
{
    sactag_model *m = NULL;
    sactag_plan *tags = NULL;
    sactag_problems *problems = NULL;
    void *stripped = NULL;
    size_t n_stripped = 0;
    int e = sactag_open_buffer(&m, bytes, n, NULL, d);
    add_status(r, "open tagged", e);
    if (e)
        return;
    add_status(r, "read tags", sactag_read_tags(&tags, m, d));
    if (tags)
        add_status(r, "tags", sactag_plan_to_json(tags, "tagged", put, r, d));
    add_status(r, "check", sactag_check(&problems, m, NULL, d));
    add_status(r, "problems", problems ? (int)sactag_problems_count(problems) : -1);
    add_status(r, "strip", sactag_strip_buffer(m, &stripped, &n_stripped, NULL, d));
    add(r, stripped ? stripped : "", n_stripped);
    free(stripped);
    sactag_problems_free(problems);
    sactag_plan_free(tags);
    sactag_close(m);
}

static void add_file(struct record *r, const char *path)
{
    FILE *f = fopen(path, "rb");
    char piece[4096];
    size_t n;
    while (f && (n = fread(piece, 1, sizeof piece, f)) > 0)
        add(r, piece, n);
    if (f)
        fclose(f);
}

static void write_model(struct record *r, sactag_model *m, const sactag_plan *p, const char *path,
                        sactag_diag *d)
{
    struct sactag_write_options w;
    void *bytes = NULL;
    size_t n = 0;
    sactag_write_options_init(&w);
    w.external = SACTAG_EXTERNAL_KEEP;
    w.no_sync = true;
    add_status(r, "tag", sactag_tag_buffer(m, p, &bytes, &n, &w, d));
    add(r, bytes ? bytes : "", n);
    add_status(r, "tag file", sactag_tag_file(m, p, path, &w, d));
    add_file(r, path);
    unlink(path);
    if (bytes)
        look_at_tagged(r, bytes, n, d);
    free(bytes);
}

/* All about one model. `path`: where a file may be written. */
static void learn(struct record *r, const char *model, const char *path)
{
    sactag_diag *d = sactag_diag_new();
    sactag_model *m = NULL;
    sactag_plan *p = NULL;
    struct sactag_options o;
    char digest[33];
    sactag_options_init(&o);
    o.specialize = true;
    *r = (struct record){0};
    int e = sactag_open(&m, model, NULL, d);
    if (!e)
        e = sactag_decide(&p, m, &o, d);
    add_status(r, "decide", e);
    if (!e) {
        add_status(r, "digest", sactag_digest(m, digest, d));
        add_status(r, "json", sactag_plan_to_json(p, "model", put, r, d));
        add_status(r, "dot", sactag_dot(m, p, put, r, d));
        add_status(r, "ir", sactag_dump_ir(m, put, r, d));
        write_model(r, m, p, path, d);
        compare(r, p, m, d);
    }
    add_messages(r, d);
    sactag_plan_free(p);
    sactag_close(m);
    sactag_diag_free(d);
}

/* ---- threads */

struct work {
    char **models;
    int n_models;
    const struct record *alone; /* what one thread learnt, per model */
    const char *folder;
    atomic_int *waiting;
    int number;
    int passed, failed;
};

static void one(struct work *w, int i)
{
    struct record r;
    char path[4200];
    snprintf(path, sizeof path, "%s/%d", w->folder, w->number);
    learn(&r, w->models[i], path);
    if (r.n == w->alone[i].n && memcmp(r.s, w->alone[i].s, r.n) == 0) {
        w->passed++;
    } else {
        w->failed++;
        printf("FAIL threads: thread %d learnt something else of %s than one thread alone\n", w->number,
               w->models[i]);
    }
    free(r.s);
}

/* Each begins with another model, all at the same moment. */
static void *be_thread(void *arg)
{
    struct work *w = arg;
    atomic_fetch_sub(w->waiting, 1);
    while (atomic_load(w->waiting) > 0)
        usleep(100);
    for (int k = 0; k < w->n_models; k++)
        one(w, (w->number + k) % w->n_models);
    return NULL;
}

static void run(struct work *all, const struct work *common)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        all[i] = *common;
        all[i].number = i;
        if (pthread_create(&threads[i], NULL, be_thread, &all[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/threads.XXXXXX", path[64];
    int n = argc - 1, passed = 0, failed = 0;
    atomic_int waiting = THREADS;
    struct record *alone = calloc((size_t)argc, sizeof *alone);
    struct work all[THREADS];
    if (n < 1 || !alone || !mkdtemp(folder))
        return 2;
    snprintf(path, sizeof path, "%s/alone", folder);
    for (int i = 0; i < n; i++) {
        learn(&alone[i], argv[1 + i], path);
        if (alone[i].n < 1000) { /* it must be about something */
            printf("FAIL threads: %s: %.*s\n", argv[1 + i], (int)alone[i].n, alone[i].s);
            failed++;
        }
    }
    run(all, &(struct work){
                 .models = argv + 1, .n_models = n, .alone = alone, .folder = folder, .waiting = &waiting});
    for (int i = 0; i < THREADS; i++) {
        passed += all[i].passed;
        failed += all[i].failed;
    }
    for (int i = 0; i < n; i++)
        free(alone[i].s);
    free(alone);
    rmdir(folder);
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
