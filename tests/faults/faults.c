/* Runs one command again and again, each time with one fault, and looks at what is left:
 *
 *     faults [-s STRIDE] [-a SHIM] [-c FILE] KIND NAME FOLDER WORK -- PROGRAM ARGUMENT...
 *
 * FOLDER is what the command finds; it runs in WORK, a copy that is put back after each run, with
 * TMPDIR=WORK/tmp and, where FOLDER has a file `stdin`, that in a pipe. KIND is
 *
 *     alloc      each allocation fails in turn; then each with all that follow (needs -a alloc_shim.so)
 *     errors     each system call fails in turn, with each of a list of errors; reads and writes are cut
 * short kill       SIGKILL at each system call signals    SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGPIPE at
 * each system call cut        at each system call FILE becomes empty, or half as long
 *
 * Only every STRIDE-th fault is tried. Before and after: the old files are there as they were, or the new
 * ones complete; nothing else is; exit 0 means that all is as it is without a fault, also what was printed;
 * else the exit code is 5 (4 when the input was read short) and the message is one line.
 *
 * Prints what was not so, and a line "NAME KIND: N faults injected, N runs, N old files lost, N partial
 * files, N litter, N other", that tests/faults.sh sums. */
#include "tests/faults/alloc.h"
#include "tests/faults/snapshot.h"
#include "tests/faults/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 20 /* no run takes longer */ };

struct result {
    int status;
    char *out, *err;
    size_t n_out, n_err;
    struct snapshot left;
};

struct tally {
    size_t injected, runs, lost, partial, litter, kept, other;
};

struct test {
    const char *kind, *name, *work, *shim, *cut;
    size_t stride;
    char *const *argv;
    struct snapshot old;
    struct result good; /* without a fault */
    struct alloc_count *alloc;
    int alloc_fd, out_fd, err_fd;
    struct calls calls;
    struct tally sum;
    bool traced;
};

/* ---- one run */

static int feed_stdin(const struct test *t)
{
    const struct entry *e = snapshot_find(&t->old, "stdin");
    int ends[2];
    if (!e)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    /* What fits into a pipe needs nobody who writes it meanwhile. */
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) < 0 ||
        write(ends[1], e->bytes, e->n) != (ssize_t)e->n)
        give_up("fill", "a pipe");
    close(ends[1]);
    return ends[0];
}

static _Noreturn void be_child(const struct test *t, int in)
{
    char fd[16];
    if (dup2(in, 0) < 0 || dup2(t->out_fd, 1) < 0 || dup2(t->err_fd, 2) < 0 || chdir(t->work) != 0)
        _exit(71);
    setenv("TMPDIR", "tmp", 1);
    setenv("MALLOC_PERTURB_", "165", 1); /* what is used after it was freed, or never set, shows */
    if (t->shim) {
        snprintf(fd, sizeof fd, "%d", t->alloc_fd);
        setenv(ALLOC_FD, fd, 1);
        setenv("LD_PRELOAD", t->shim, 1);
    }
    alarm(SECONDS);
    if (t->traced)
        trace_me();
    execv(t->argv[0], t->argv);
    _exit(72);
}

static void run(struct test *t, const struct fault *f, struct result *r)
{
    int in = feed_stdin(t);
    if (ftruncate(t->out_fd, 0) != 0 || lseek(t->out_fd, 0, SEEK_SET) != 0 || ftruncate(t->err_fd, 0) != 0 ||
        lseek(t->err_fd, 0, SEEK_SET) != 0)
        give_up("empty", "what was printed");
    pid_t p = fork();
    if (p < 0)
        give_up("start", "a process");
    if (p == 0)
        be_child(t, in);
    close(in);
    if (t->traced)
        r->status = trace(p, f, &t->calls);
    else if (waitpid(p, &r->status, 0) != p)
        give_up("wait for", "the program");
    r->out = read_whole(t->out_fd, &r->n_out);
    r->err = read_whole(t->err_fd, &r->n_err);
    snapshot_take(&r->left, t->work);
}

static void result_free(struct result *r)
{
    free(r->out);
    free(r->err);
    snapshot_free(&r->left);
}

/* ---- what is to be said of a run */

struct verdict {
    struct test *t;
    const char *fault; /* in words */
    bool told;
};

static void complain(struct verdict *v, size_t *counter, const char *what, const char *which)
{
    (*counter)++;
    if (!v->told)
        printf("FAIL faults %s %s, %s: ", v->t->name, v->t->kind, v->fault);
    printf("%s%s%s", v->told ? "; " : "", what, which);
    v->told = true;
}

static bool is_temporary(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strncmp(name, ".sactag-", 8) == 0;
}

static bool has_content_of(const struct snapshot *s, const struct entry *e)
{
    for (size_t i = 0; i < s->n; i++)
        if (S_ISREG(s->list[i].mode) && s->list[i].n == e->n && memcmp(s->list[i].bytes, e->bytes, e->n) == 0)
            return true;
    return false;
}

static void check_file(struct verdict *v, const struct entry *e, bool killed)
{
    const struct entry *old = snapshot_find(&v->t->old, e->path);
    const struct entry *new = snapshot_find(&v->t->good.left, e->path);
    if ((old && entry_same(old, e)) || (new &&entry_same(new, e)))
        return;
    if (v->t->cut && strcmp(e->path, v->t->cut) == 0)
        return;
    /* Who is killed between the two calls that put a file in the place of another leaves the new one, whole,
     * under both names (schema/file.h). */
    if (killed && is_temporary(e->path) && has_content_of(&v->t->good.left, e))
        v->t->sum.kept++;
    else if (is_temporary(e->path))
        complain(v, &v->t->sum.litter, "left behind: ", e->path);
    else
        complain(v, &v->t->sum.partial, "neither old nor new: ", e->path);
}

static void check_files(struct verdict *v, const struct result *r, bool killed)
{
    for (size_t i = 0; i < r->left.n; i++)
        check_file(v, &r->left.list[i], killed);
    for (size_t i = 0; i < v->t->old.n; i++) {
        const char *path = v->t->old.list[i].path;
        if (!snapshot_find(&r->left, path) && snapshot_find(&v->t->good.left, path))
            complain(v, &v->t->sum.lost, "lost: ", path);
    }
}

/* Lines of `err` that are not said without a fault, nor warnings and notes. */
static size_t error_lines(const struct test *t, const struct result *r)
{
    size_t n = 0;
    for (const char *line = r->err, *end; *line; line = end) {
        end = strchr(line, '\n');
        size_t len = end ? (size_t)(end - line) : strlen(line);
        char *copy = strndup(line, len);
        end = line + len + (end != NULL);
        if (!copy)
            give_up("hold", "a line");
        if (!strstr(copy, ": note: ") && !strstr(copy, ": warning: ") && !(len && strstr(t->good.err, copy)))
            n += strncmp(copy, "sactag: ", 8) == 0 ? 1 : 100;
        free(copy);
    }
    return n;
}

static void check_exit(struct verdict *v, const struct result *r, int also)
{
    const struct test *t = v->t;
    int code = WEXITSTATUS(r->status);
    if (code == WEXITSTATUS(t->good.status)) {
        bool same = r->n_out == t->good.n_out && memcmp(r->out, t->good.out, r->n_out) == 0;
        for (size_t i = 0; same && i < t->good.left.n; i++) {
            const struct entry *e = snapshot_find(&r->left, t->good.left.list[i].path);
            same = (e && entry_same(e, &t->good.left.list[i])) ||
                   (t->cut && strcmp(t->good.left.list[i].path, t->cut) == 0);
        }
        if (!same)
            complain(v, &v->t->sum.other, "it says that all is well, and it is not", "");
        return;
    }
    char text[32];
    snprintf(text, sizeof text, "%d", code);
    if (code != 5 && code != also)
        complain(v, &v->t->sum.other, "exit code ", text);
    size_t n = error_lines(t, r);
    snprintf(text, sizeof text, "%zu", n);
    /* What was cut is also malformed, here and there. */
    if (n != 1 && !(t->cut && n >= 1 && n < 100))
        complain(v, &v->t->sum.other, "lines of errors: ", text);
}

/* `sig`: the signal that was sent; `also`: another exit code that is right. */
static void judge(struct test *t, const struct result *r, const char *fault, int sig, int also)
{
    struct verdict v = {t, fault, false};
    check_files(&v, r, sig == SIGKILL);
    if (WIFEXITED(r->status))
        check_exit(&v, r, also);
    else if (!sig || WTERMSIG(r->status) != sig)
        complain(&v, &t->sum.other, "ended by signal: ", strsignal(WTERMSIG(r->status)));
    if (!v.told)
        return;
    putchar('\n');
    if (r->n_err)
        printf("    %.400s%s", r->err, r->err[r->n_err - 1] == '\n' ? "" : "\n");
}

/* ---- kinds of faults */

static void one(struct test *t, const struct fault *f, const char *words, int also)
{
    struct result r;
    run(t, f, &r);
    t->sum.runs++;
    if (t->traced)
        t->sum.injected += t->calls.done;
    judge(t, &r, words, f->act == ACT_SIGNAL ? (int)f->value : 0, also);
    snapshot_restore(&t->old, &r.left, t->work);
    result_free(&r);
}

static void each_allocation(struct test *t)
{
    static const struct fault none = {0};
    uint64_t n = t->alloc->calls;
    int64_t live = t->alloc->live;
    char words[100];
    for (int more = 0; more < 2; more++)
        for (uint64_t k = 1 + (more ? t->stride / 2 : 0); k <= n; k += t->stride) {
            *t->alloc = (struct alloc_count){.fail_at = k, .from_there_on = more};
            snprintf(words, sizeof words, "allocation %llu of %llu%s", (unsigned long long)k,
                     (unsigned long long)n, more ? " and all others" : "");
            one(t, &none, words, 5);
            t->sum.injected += t->alloc->failed > 0;
            if (t->alloc->live > live) {
                printf("FAIL faults %s alloc, %s: %lld allocations are not freed\n", t->name, words,
                       (long long)(t->alloc->live - live));
                t->sum.other++;
            }
        }
}

struct error {
    enum act act;
    int value;
    const char *name;
    const long *calls; /* of these only, ended by -1; NULL: of all */
    int also;
};

static const long transfers[] = {
    SYS_read,  SYS_pread64,   SYS_write, SYS_pwrite64, SYS_writev, SYS_copy_file_range, SYS_fallocate,
    SYS_fsync, SYS_ftruncate, -1};
static const long moves[] = {SYS_read,   SYS_pread64,         SYS_write, SYS_pwrite64,
                             SYS_writev, SYS_copy_file_range, -1};
static const long readers[] = {SYS_read, SYS_pread64, SYS_copy_file_range, -1};

static const struct error errors[] = {
    {ACT_ERROR, EIO, "EIO", NULL, 0},          {ACT_ERROR, ENOSPC, "ENOSPC", NULL, 0},
    {ACT_ERROR, EROFS, "EROFS", NULL, 0},      {ACT_ERROR, EDQUOT, "EDQUOT", NULL, 0},
    {ACT_ERROR, ENOMEM, "ENOMEM", NULL, 0},    {ACT_ERROR, EACCES, "EACCES", NULL, 0},
    {ACT_ERROR, EINTR, "EINTR", transfers, 0}, {ACT_SHORT, 0, "half of it", moves, 0},
    {ACT_EMPTY, 0, "end of file", readers, 4},
};

static bool among(const long *list, long nr)
{
    for (; *list >= 0; list++)
        if (*list == nr)
            return true;
    return false;
}

static void each_error(struct test *t)
{
    size_t turn = 0, n = t->calls.n;
    long *number = malloc((n + 1) * sizeof *number);
    char words[100];
    if (!number)
        give_up("hold", "system calls");
    memcpy(number, t->calls.number, n * sizeof *number);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
            const struct error *e = &errors[i];
            if ((e->calls && !among(e->calls, number[k])) || turn++ % t->stride)
                continue;
            snprintf(words, sizeof words, "system call %ld, the %zuth of %zu: %s", number[k], k + 1, n,
                     e->name);
            one(t, &(struct fault){e->act, k, e->value, NULL}, words, e->also);
        }
    free(number);
}

static void each_signal(struct test *t, const int *sigs, size_t n_sigs)
{
    size_t turn = 0, n = t->calls.n;
    char words[100];
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n_sigs; i++)
            if (turn++ % t->stride == 0) {
                snprintf(words, sizeof words, "SIG%s at system call %zu of %zu", sigabbrev_np(sigs[i]), k + 1,
                         n);
                one(t, &(struct fault){ACT_SIGNAL, k, sigs[i], NULL}, words, 0);
            }
}

static void each_cut(struct test *t)
{
    const struct entry *e = snapshot_find(&t->old, t->cut);
    char path[4096], words[100];
    size_t turn = 0, n = t->calls.n;
    if (!e)
        give_up("find", t->cut);
    snprintf(path, sizeof path, "%s/%s", t->work, t->cut);
    for (size_t k = 0; k < n; k++)
        for (int i = 0; i < 3; i++)
            if (turn++ % t->stride == 0) {
                long size = i == 0 ? 0 : i == 1 ? (long)e->n / 2 : (long)e->n - 1;
                snprintf(words, sizeof words, "%s cut to %ld bytes at system call %zu of %zu", t->cut, size,
                         k + 1, n);
                one(t, &(struct fault){ACT_CUT, k, size, path}, words, 4);
            }
}

static void all_faults(struct test *t)
{
    static const int kill[] = {SIGKILL}, stop[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    if (strcmp(t->kind, "alloc") == 0)
        each_allocation(t);
    else if (strcmp(t->kind, "errors") == 0)
        each_error(t);
    else if (strcmp(t->kind, "kill") == 0)
        each_signal(t, kill, 1);
    else if (strcmp(t->kind, "signals") == 0)
        each_signal(t, stop, sizeof stop / sizeof *stop);
    else if (strcmp(t->kind, "cut") == 0 && t->cut)
        each_cut(t);
    else
        give_up("know the kind", t->kind);
}

/* ---- the whole */

static int memory(const char *name)
{
    int fd = memfd_create(name, 0);
    if (fd < 0 || fcntl(fd, F_SETFL, O_APPEND) < 0)
        give_up("make", name);
    return fd;
}

static void prepare(struct test *t, const char *folder)
{
    struct snapshot nothing = {0};
    static const struct fault none = {0};
    t->out_fd = memory("out");
    t->err_fd = memory("err");
    t->traced = !t->shim;
    if (t->shim) {
        t->alloc_fd = memfd_create("alloc", 0);
        if (t->alloc_fd < 0 || ftruncate(t->alloc_fd, sizeof *t->alloc) != 0)
            give_up("make", "shared memory");
        t->alloc = mmap(NULL, sizeof *t->alloc, PROT_READ | PROT_WRITE, MAP_SHARED, t->alloc_fd, 0);
        if (t->alloc == MAP_FAILED)
            give_up("map", "shared memory");
    }
    snapshot_take(&t->old, folder);
    snapshot_restore(&t->old, &nothing, t->work);
    run(t, &none, &t->good);
    snapshot_restore(&t->old, &t->good.left, t->work);
}

static int usage(void)
{
    fputs("usage: faults [-s STRIDE] [-a SHIM] [-c FILE] KIND NAME FOLDER WORK -- PROGRAM ARGUMENT...\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct rlimit no_core = {0, 0};
    struct test t = {.stride = 1, .alloc_fd = -1};
    int c;
    while ((c = getopt(argc, argv, "+s:a:c:")) != -1) {
        if (c == 's')
            t.stride = strtoul(optarg, NULL, 10);
        else if (c == 'a')
            t.shim = optarg;
        else if (c == 'c')
            t.cut = optarg;
        else
            return usage();
    }
    if (argc - optind < 6 || strcmp(argv[optind + 4], "--") != 0 || t.stride == 0)
        return usage();
    t.kind = argv[optind];
    t.name = argv[optind + 1];
    t.work = argv[optind + 3];
    t.argv = argv + optind + 5;
    setrlimit(RLIMIT_CORE, &no_core);
    const char *why = t.shim ? NULL : trace_unable();
    if (why) {
        printf("NOT RUN %s %s: %s\n", t.name, t.kind, why);
        return 0;
    }
    prepare(&t, argv[optind + 2]);
    bool ok = WIFEXITED(t.good.status) && WEXITSTATUS(t.good.status) <= 1 &&
              (t.shim ? t.alloc->calls : t.calls.n) > 0;
    if (ok)
        all_faults(&t);
    else
        printf("FAIL faults %s %s: it does not even work without a fault: %s\n", t.name, t.kind, t.good.err);
    const struct tally *s = &t.sum;
    printf("%s %s: %zu faults injected, %zu runs, %zu old files lost, %zu partial files, %zu litter, %zu "
           "other, %zu whole "
           "under a second name\n",
           t.name, t.kind, s->injected, s->runs, s->lost, s->partial, s->litter, s->other + !ok, s->kept);
    return !ok || s->lost || s->partial || s->litter || s->other;
}
