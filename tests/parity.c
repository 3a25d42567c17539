/* Compares the plans of sactag with the decisions that PyTorch took (tests/cases/README.md).
 *
 *     parity [--auto] SACTAG CASES [KNOWN]
 *
 * One run of `sactag plan` per file, case and rule; it is right when every traced matmul has PyTorch's
 * decision and no other node has one, or, where a name is no Linear, when sactag exits with 3. Blocks are
 * given as in blocks.txt; with --auto they are left for sactag to find. KNOWN lists misses that are
 * understood: one that is not listed fails, and so does a listed one that is right now or was not run. Prints
 * every miss; the last line is "N passed, M failed". */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_COLUMNS = 16, MAX_ARGS = 256, RUN_SECONDS = 60, EXIT_POLICY = 3 };

/* A tab-separated file in memory: one header line, then rows of as many columns. */
struct table {
    char *text;
    const char **cell; /* row-major, without the header */
    size_t rows, columns;
};

struct known {
    struct table list; /* file case rule blocks reason */
    bool *met;
};

struct score {
    unsigned right, known, wrong;
};

struct run {
    const char *model, *file, *blocks_mode;
    char **blocks;
    size_t n_blocks;
    const struct table *nodes, *decisions;
};

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "parity: %s: %s\n", what, detail);
    exit(2);
}

static void *grow(void *old, size_t count, size_t size)
{
    void *p = reallocarray(old, count ? count : 1, size);
    if (!p)
        die("memory", "exhausted");
    return p;
}

/* Everything that can be read, NUL-terminated; for pipes too. */
static char *read_all(FILE *f)
{
    char *text = NULL;
    size_t used = 0, cap = 0, got;
    do {
        if (cap - used < 4096) {
            cap = cap ? 2 * cap : 16384;
            text = grow(text, cap, 1);
        }
        got = fread(text + used, 1, cap - used - 1, f);
        used += got;
    } while (got);
    text[used] = 0;
    return text;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return NULL;
    char *text = read_all(f);
    fclose(f);
    return text;
}

/* Takes over `text`. Rows that are too short get empty cells. */
static struct table table_of(char *text)
{
    struct table t = {.text = text};
    bool header = true;
    for (char *line; text && (line = strsep(&text, "\n"));) {
        if (!*line)
            continue;
        char *cells[MAX_COLUMNS];
        size_t n = 0;
        for (char *c; n < MAX_COLUMNS && (c = strsep(&line, "\t"));)
            cells[n++] = c;
        if (header)
            t.columns = n;
        t.cell = grow(t.cell, (t.rows + 1) * t.columns, sizeof *t.cell);
        for (size_t i = 0; i < t.columns; i++)
            t.cell[t.rows * t.columns + i] = i < n ? cells[i] : "";
        t.rows++;
        if (header)
            t.rows = 0;
        header = false;
    }
    return t;
}

static const char *at(const struct table *t, size_t row, size_t column)
{
    return t->cell[row * t->columns + column];
}

static void table_free(struct table *t)
{
    free(t->text);
    free(t->cell);
}

static struct table table_read(const char *dir, const char *name, size_t columns)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    struct table t = table_of(read_file(path));
    if (t.columns != columns)
        die(path, "missing, or not the expected columns");
    return t;
}

/* Runs a program without a shell. Returns its exit code (128 + signal), its output and its last line of
 * errors. */
static int run_program(char **argv, char **out, char *err, size_t err_size)
{
    int pipe_out[2];
    FILE *errors = tmpfile();
    if (!errors || pipe(pipe_out))
        die("pipe", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        die("fork", strerror(errno));
    if (pid == 0) {
        dup2(pipe_out[1], 1);
        dup2(fileno(errors), 2);
        close(pipe_out[0]);
        close(pipe_out[1]);
        alarm(RUN_SECONDS);
        execv(argv[0], argv);
        _exit(127);
    }
    close(pipe_out[1]);
    FILE *f = fdopen(pipe_out[0], "r");
    if (!f)
        die("fdopen", strerror(errno));
    *out = read_all(f);
    fclose(f);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    rewind(errors);
    err[0] = 0;
    while (fgets(err, (int)err_size, errors))
        ;
    err[strcspn(err, "\n")] = 0;
    fclose(errors);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Columns, in the order of the files. */
enum { CASE_ID, CASE_RULE, CASE_FQNS, CASE_ERROR, CASE_KNOWN, CASE_COLUMNS };
enum { DEC_CASE, DEC_RULE, DEC_TRACE, DEC_BLOCK, DEC_CALL, DEC_DECISION, DEC_FORCED, DEC_COLUMNS };
enum { NODE_FILE, NODE_TRACE, NODE_INDEX, NODE_NAME, NODE_OUTPUT, NODE_OP, NODE_RHS, NODE_COLUMNS };
enum { KNOWN_FILE, KNOWN_CASE, KNOWN_RULE, KNOWN_BLOCKS, KNOWN_REASON, KNOWN_COLUMNS };
enum { PLAN_INDEX, PLAN_GRAPH, PLAN_NODE, PLAN_BLOCK = 5, PLAN_CALL, PLAN_POLICY = 10, PLAN_COLUMNS = 12 };

static const char *decision(const struct run *r, const char *id, const char *rule, const char *trace)
{
    for (size_t i = 0; i < r->decisions->rows; i++)
        if (!strcmp(at(r->decisions, i, DEC_CASE), id) && !strcmp(at(r->decisions, i, DEC_RULE), rule) &&
            !strcmp(at(r->decisions, i, DEC_TRACE), trace))
            return at(r->decisions, i, DEC_DECISION);
    return "none";
}

/* The row of the plan that shows a traced node; plan->rows if none does. */
static size_t plan_row(const struct table *plan, const char *index, const char *name)
{
    size_t i = 0;
    for (; i < plan->rows; i++) {
        if (strcmp(index, "?") != 0) {
            if (!strcmp(at(plan, i, PLAN_GRAPH), "-") && !strcmp(at(plan, i, PLAN_INDEX), index))
                break;
        } else if (!strcmp(at(plan, i, PLAN_NODE), name)) {
            break;
        }
    }
    return i;
}

static void say(char *why, size_t size, unsigned *differences, const char *node, const char *want,
                const char *got)
{
    if ((*differences)++ < 3) {
        size_t used = strlen(why);
        snprintf(why + used, size - used, "%s%s: expected %s, got %s", used ? "; " : "", node, want, got);
    }
}

/* Whether a row of the plan says what a row of decisions says. */
static bool agree(const struct run *r, const struct table *plan, size_t row, size_t d)
{
    return !strcmp(at(plan, row, PLAN_POLICY), at(r->decisions, d, DEC_DECISION)) &&
           !strcmp(at(plan, row, PLAN_BLOCK), at(r->decisions, d, DEC_BLOCK)) &&
           !strcmp(at(plan, row, PLAN_CALL), at(r->decisions, d, DEC_CALL));
}

/* Whether a row of a Loop's body stands for one more iteration: decided alike, unless sactag says that
 * iterations `differ`. */
static bool iterates(const struct run *r, const struct table *plan, size_t row, size_t d, bool differ)
{
    return strstr(at(plan, row, PLAN_GRAPH), ":Loop/") &&
           !strcmp(at(plan, row, PLAN_BLOCK), at(r->decisions, d, DEC_BLOCK)) &&
           !strcmp(at(plan, row, PLAN_CALL), at(r->decisions, d, DEC_CALL)) &&
           (differ || agree(r, plan, row, d));
}

/* For files whose nodes are not known: the decided rows, in order, are the decisions of the case, in order.
 */
static bool sequence_right(const struct run *r, const struct table *plan, const char *id, const char *rule,
                           const char *messages)
{
    bool differ = strstr(messages, "decide differently") != NULL;
    size_t *want = grow(NULL, r->decisions->rows, sizeof *want), n = 0;
    for (size_t i = 0; i < r->decisions->rows; i++)
        if (!strcmp(at(r->decisions, i, DEC_CASE), id) && !strcmp(at(r->decisions, i, DEC_RULE), rule) &&
            strcmp(at(r->decisions, i, DEC_DECISION), "none") != 0)
            want[n++] = i;
    /* reached[j]: the rows so far can stand for exactly the first j decisions */
    bool *reached = grow(NULL, n + 1, 1), *next = grow(NULL, n + 1, 1);
    memset(reached, 0, n + 1);
    reached[0] = true;
    for (size_t i = 0; i < plan->rows; i++) {
        if (!strcmp(at(plan, i, PLAN_POLICY), "none"))
            continue;
        next[0] = false;
        for (size_t j = 1; j <= n; j++)
            next[j] = (reached[j - 1] && agree(r, plan, i, want[j - 1])) ||
                      (next[j - 1] && iterates(r, plan, i, want[j - 1], differ));
        memcpy(reached, next, n + 1);
    }
    bool right = reached[n];
    free(want), free(reached), free(next);
    return right;
}

static bool nodes_known(const struct run *r)
{
    for (size_t i = 0; i < r->nodes->rows; i++)
        if (!strcmp(at(r->nodes, i, NODE_FILE), r->file))
            return true;
    return false;
}

/* Compares one plan with the decisions of a case. Writes what differs, at most three nodes of it. */
static bool plan_right(const struct run *r, const struct table *plan, const char *id, const char *rule,
                       char *why, size_t why_size)
{
    unsigned differences = 0;
    bool *seen = grow(NULL, plan->rows, sizeof *seen);
    bool hidden = false;
    memset(seen, 0, plan->rows * sizeof *seen);
    const char *last_trace = "";
    for (size_t i = 0; i < r->nodes->rows; i++) {
        const char *trace = at(r->nodes, i, NODE_TRACE);
        if (strcmp(at(r->nodes, i, NODE_FILE), r->file) != 0)
            continue;
        const char *index = at(r->nodes, i, NODE_INDEX), *name = at(r->nodes, i, NODE_NAME);
        size_t row = plan_row(plan, index, name);
        if (row < plan->rows)
            seen[row] = true;
        hidden |= !strcmp(index, "?");
        if (!strcmp(trace, last_trace)) /* one matmul that became several nodes: the first tells */
            continue;
        last_trace = trace;
        const char *want = decision(r, id, rule, trace);
        const char *got = row < plan->rows ? at(plan, row, PLAN_POLICY) : "none";
        if (strcmp(want, got) != 0)
            say(why, why_size, &differences, name, want, got);
    }
    for (size_t i = 0; i < plan->rows && !hidden; i++)
        if (!seen[i] && strcmp(at(plan, i, PLAN_POLICY), "none") != 0)
            say(why, why_size, &differences, at(plan, i, PLAN_NODE), "no row", at(plan, i, PLAN_POLICY));
    if (differences > 3) {
        size_t used = strlen(why);
        snprintf(why + used, why_size - used, "; and %u more", differences - 3);
    }
    free(seen);
    return differences == 0;
}

struct args {
    char *v[MAX_ARGS + 1];
    size_t n;
};

static void add(struct args *a, const char *text)
{
    if (a->n == MAX_ARGS)
        die("too many arguments", text);
    if (!(a->v[a->n++] = strdup(text)))
        die("memory", "exhausted");
    a->v[a->n] = NULL;
}

static void add_policy(struct args *a, const struct run *r, const char *rule, const char *fqns)
{
    if (!strcmp(rule, "titan")) {
        add(a, "--profile"), add(a, "titan");
    } else {
        add(a, "--mm-rule"), add(a, rule);
    }
    for (size_t i = 0; i < r->n_blocks; i++)
        add(a, "--blocks"), add(a, r->blocks[i]);
    if (strcmp(fqns, "-") != 0)
        add(a, "--fqn"), add(a, fqns);
}

/* Whether the file holds enough to know the answer (cases/README.md). */
static bool can_know(const char *file, const char *known)
{
    static const char *const named[] = {"train",   "paramsin", "dyntrain", "initin",
                                        "wrapped", "autocast", "dynamo",   "dynamoopt"};
    const char *dot = strrchr(file, '.');
    if (!strcmp(known, "all") || !strcmp(dot, ".pt2"))
        return true;
    for (size_t i = 0; !strcmp(known, "named") && i < sizeof named / sizeof *named; i++)
        if (strlen(named[i]) == (size_t)(dot - file) - strlen("model_") &&
            !strncmp(file + strlen("model_"), named[i], strlen(named[i])))
            return true;
    return false;
}

static bool is_known_miss(struct known *k, const struct run *r, const char *id, const char *rule)
{
    char file[512];
    snprintf(file, sizeof file, "%s/%s", r->model, r->file);
    for (size_t i = 0; i < k->list.rows; i++)
        if (!strcmp(at(&k->list, i, KNOWN_FILE), file) && !strcmp(at(&k->list, i, KNOWN_CASE), id) &&
            !strcmp(at(&k->list, i, KNOWN_RULE), rule) &&
            !strcmp(at(&k->list, i, KNOWN_BLOCKS), r->blocks_mode))
            return k->met[i] = true;
    return false;
}

/* One file under one case. */
static void try_case(const struct run *r, const struct table *cases, size_t c, char *program,
                     const char *root, struct known *known, struct score *score)
{
    const char *id = at(cases, c, CASE_ID), *rule = at(cases, c, CASE_RULE), *fqns = at(cases, c, CASE_FQNS);
    char path[4096], why[4096] = "", err[512];
    struct args a = {.n = 0};
    snprintf(path, sizeof path, "%s/%s/%s", root, r->model, r->file);
    add(&a, program), add(&a, "plan"), add(&a, path), add(&a, "--format"), add(&a, "tsv");
    add_policy(&a, r, rule, fqns);
    char *out;
    int code = run_program(a.v, &out, err, sizeof err);
    bool right = false, must_fail = strcmp(at(cases, c, CASE_ERROR), "-") != 0;
    if (code != (must_fail ? EXIT_POLICY : 0)) {
        snprintf(why, sizeof why, "exit %d instead of %d%s%s", code, must_fail ? EXIT_POLICY : 0,
                 *err ? ": " : "", err);
    } else if (must_fail) {
        right = true;
    } else {
        struct table plan = table_of(strdup(out));
        if (plan.columns != PLAN_COLUMNS)
            snprintf(why, sizeof why, "the plan has %zu columns", plan.columns);
        else if (nodes_known(r))
            right = plan_right(r, &plan, id, rule, why, sizeof why);
        else if (!(right = sequence_right(r, &plan, id, rule, err)))
            snprintf(why, sizeof why, "another sequence of decisions");
        table_free(&plan);
    }
    bool listed = is_known_miss(known, r, id, rule);
    if (right && !listed) {
        score->right++;
    } else {
        if (right)
            snprintf(why, sizeof why, "listed as a known miss, but right");
        right || !listed ? score->wrong++ : score->known++;
        printf("%s parity %s/%s case %s rule %s blocks %s fqns %s: %s\n", !right && listed ? "known" : "FAIL",
               r->model, r->file, id, rule, r->blocks_mode, fqns, why);
    }
    free(out);
    for (size_t i = 0; i < a.n; i++)
        free(a.v[i]);
}

static int is_export(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');
    return dot && !strncmp(e->d_name, "model", 5) && !strstr(e->d_name, "core") &&
           (!strcmp(dot, ".onnx") || !strcmp(dot, ".pt2"));
}

static int is_plain(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* "layers.0", but not "block". */
static bool is_numbered(const char *block)
{
    for (const char *segment = block; segment; segment = strchr(segment, '.')) {
        segment += *segment == '.';
        size_t digits = strspn(segment, "0123456789");
        if (digits && (segment[digits] == '.' || !segment[digits]))
            return true;
    }
    return false;
}

/* All files of one model. */
static void try_model(const char *root, const char *model, bool automatic, char *program, struct known *known,
                      struct score *score)
{
    char dir[2048], path[4096];
    snprintf(dir, sizeof dir, "%s/%s", root, model);
    snprintf(path, sizeof path, "%s/blocks.txt", dir);
    char *text = read_file(path);
    if (!text)
        return; /* not a model's directory */
    char *blocks[MAX_ARGS / 4];
    struct run r = {.model = model, .blocks_mode = automatic ? "auto" : "given", .blocks = blocks};
    bool numbered = true;
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        if (!*line || r.n_blocks == MAX_ARGS / 4)
            continue;
        numbered &= is_numbered(line);
        blocks[r.n_blocks++] = line;
    }
    if (automatic && !numbered) {
        free(text);
        return;
    }
    if (automatic)
        r.n_blocks = 0;
    struct table cases = table_read(dir, "cases.tsv", CASE_COLUMNS);
    struct table nodes = table_read(dir, "nodes.tsv", NODE_COLUMNS);
    struct table decisions = table_read(dir, "decisions.tsv", DEC_COLUMNS);
    r.nodes = &nodes, r.decisions = &decisions;
    struct dirent **files;
    int n = scandir(dir, &files, is_export, alphasort);
    for (int i = 0; i < n; i++) {
        r.file = files[i]->d_name;
        for (size_t c = 0; c < cases.rows; c++)
            if (can_know(r.file, at(&cases, c, CASE_KNOWN)))
                try_case(&r, &cases, c, program, root, known, score);
        free(files[i]);
    }
    if (n >= 0)
        free(files);
    table_free(&cases), table_free(&nodes), table_free(&decisions);
    free(text);
}

/* Listed misses that did not occur are out of date. */
static void check_known(const struct known *k, const char *mode, struct score *score)
{
    for (size_t i = 0; i < k->list.rows; i++) {
        if (k->met[i] || strcmp(at(&k->list, i, KNOWN_BLOCKS), mode) != 0)
            continue;
        printf("FAIL parity %s case %s rule %s blocks %s: listed as a known miss, but was not run\n",
               at(&k->list, i, KNOWN_FILE), at(&k->list, i, KNOWN_CASE), at(&k->list, i, KNOWN_RULE), mode);
        score->wrong++;
    }
    for (size_t i = 0; i < k->list.rows; i++)
        if (!*at(&k->list, i, KNOWN_REASON))
            die(at(&k->list, i, KNOWN_FILE), "a known miss without a reason");
}

int main(int argc, char **argv)
{
    bool automatic = argc > 1 && !strcmp(argv[1], "--auto");
    argc -= automatic, argv += automatic;
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: parity [--auto] SACTAG CASES [KNOWN]\n");
        return 2;
    }
    struct known known = {.met = NULL};
    if (argc == 4) {
        known.list = table_of(read_file(argv[3]));
        if (known.list.columns != KNOWN_COLUMNS)
            die(argv[3], "missing, or not the expected columns");
        known.met = calloc(known.list.rows + 1, sizeof *known.met);
        if (!known.met)
            die("memory", "exhausted");
    }
    struct score score = {.right = 0};
    struct dirent **models;
    int n = scandir(argv[2], &models, is_plain, alphasort);
    if (n < 0)
        die(argv[2], strerror(errno));
    for (int i = 0; i < n; i++) {
        try_model(argv[2], models[i]->d_name, automatic, argv[1], &known, &score);
        free(models[i]);
    }
    free(models);
    check_known(&known, automatic ? "auto" : "given", &score);
    printf("blocks %s: %u of %u plans as PyTorch decided, %u known misses\n", automatic ? "auto" : "given",
           score.right, score.right + score.known + score.wrong, score.known);
    printf("%u passed, %u failed\n", score.right, score.wrong);
    table_free(&known.list);
    free(known.met);
    return score.wrong || !score.right;
}
