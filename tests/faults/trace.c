#include "tests/faults/trace.h"

#include "tests/faults/snapshot.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what differs between processors: the call's number, its arguments, its result */

#if defined __x86_64__

typedef struct user_regs_struct registers;

static void set_number(pid_t p, registers *r, long n)
{
    (void)p;
    r->orig_rax = (unsigned long long)n;
}

static void set_argument(registers *r, int i, uint64_t v)
{
    unsigned long long *a[] = {&r->rdi, &r->rsi, &r->rdx, &r->r10, &r->r8, &r->r9};
    *a[i] = v;
}

static void set_result(registers *r, long v)
{
    r->rax = (unsigned long long)v;
}

#elif defined __aarch64__

typedef struct user_regs_struct registers;

static void set_number(pid_t p, registers *r, long n)
{
    int number = (int)n;
    struct iovec v = {&number, sizeof number};
    (void)r;
    if (ptrace(PTRACE_SETREGSET, p, (void *)NT_ARM_SYSTEM_CALL, &v) != 0)
        give_up("change", "a system call");
}

static void set_argument(registers *r, int i, uint64_t v)
{
    r->regs[i] = v;
}

static void set_result(registers *r, long v)
{
    r->regs[0] = (unsigned long long)v;
}

#else
#define UNKNOWN_PROCESSOR
typedef struct {
    char none;
} registers;
static void set_number(pid_t p, registers *r, long n)
{
    (void)p, (void)r, (void)n;
}
static void set_argument(registers *r, int i, uint64_t v)
{
    (void)r, (void)i, (void)v;
}
static void set_result(registers *r, long v)
{
    (void)r, (void)v;
}
#endif

static void registers_move(pid_t p, registers *r, enum __ptrace_request request)
{
    struct iovec v = {r, sizeof *r};
    if (ptrace(request, p, (void *)NT_PRSTATUS, &v) != 0)
        give_up("trace", "the program");
}

/* ---- acting */

static bool reads_or_writes(long nr)
{
    return nr == SYS_read || nr == SYS_pread64 || nr == SYS_write || nr == SYS_pwrite64;
}

/* Makes the call ask for half. A vector is cut to half of its first piece, as one write(). */
static bool cut_short(pid_t p, registers *r, long nr, const uint64_t *args)
{
    if (reads_or_writes(nr) && args[2] > 1) {
        set_argument(r, 2, args[2] / 2);
        return true;
    }
    if (nr == SYS_copy_file_range && args[4] > 1) {
        set_argument(r, 4, args[4] / 2);
        return true;
    }
    struct iovec piece, to = {&piece, sizeof piece}, from = {(void *)(uintptr_t)args[1], sizeof piece};
    if (nr != SYS_writev || process_vm_readv(p, &to, 1, &from, 1, 0) != (ssize_t)sizeof piece ||
        piece.iov_len < 2)
        return false;
    set_number(p, r, SYS_write);
    set_argument(r, 1, (uintptr_t)piece.iov_base);
    set_argument(r, 2, piece.iov_len / 2);
    return true;
}

/* At the entry of the call; true when its result is to be replaced at its exit. */
static bool act(pid_t p, const struct fault *f, long nr, const uint64_t *args, struct calls *calls)
{
    registers r;
    bool replace = f->act == ACT_ERROR || f->act == ACT_EMPTY;
    calls->done++;
    if (f->act == ACT_SIGNAL) {
        kill(p, (int)f->value);
        return false;
    }
    if (f->act == ACT_CUT) {
        if (truncate(f->path, f->value) != 0)
            give_up("cut", f->path);
        return false;
    }
    registers_move(p, &r, PTRACE_GETREGSET);
    if (replace)
        set_number(p, &r, -1);
    else if (!cut_short(p, &r, nr, args))
        calls->done--;
    registers_move(p, &r, PTRACE_SETREGSET);
    return replace;
}

static void replace_result(pid_t p, const struct fault *f)
{
    registers r;
    registers_move(p, &r, PTRACE_GETREGSET);
    set_result(&r, f->act == ACT_ERROR ? -f->value : 0);
    registers_move(p, &r, PTRACE_SETREGSET);
}

/* ---- where counting begins and ends */

static bool begins(long nr, const uint64_t *args)
{
    return nr == SYS_fcntl && args[0] == STDIN_FILENO && args[1] == F_GETFD;
}

static bool is_coverage(pid_t p, long nr, const uint64_t *args)
{
    char path[4096];
    uint64_t at = nr == SYS_openat ? args[1] : args[0];
    struct iovec to = {path, sizeof path - 1}, from = {(void *)(uintptr_t)at, sizeof path - 1};
    if (nr != SYS_openat
#ifdef SYS_open
        && nr != SYS_open
#endif
    )
        return false;
    ssize_t n = process_vm_readv(p, &to, 1, &from, 1, 0);
    path[n > 0 ? n : 0] = '\0';
    size_t len = strlen(path);
    return len > 5 && strcmp(path + len - 5, ".gcda") == 0;
}

static void note(struct calls *c, long nr)
{
    if (c->n % 256 == 0)
        c->number = realloc(c->number, (c->n + 256) * sizeof *c->number);
    if (!c->number)
        give_up("hold", "system calls");
    c->number[c->n++] = nr;
}

struct state {
    bool counting, over, replace;
};

static void entered(pid_t p, const struct __ptrace_syscall_info *i, const struct fault *f,
                    struct calls *calls, struct state *s)
{
    uint64_t args[6];
    long nr = (long)i->entry.nr;
    for (int k = 0; k < 6; k++)
        args[k] = i->entry.args[k];
    s->replace = false;
    s->counting |= begins(nr, args);
    s->over |= s->counting && (is_coverage(p, nr, args) || nr == SYS_exit_group);
    /* The C library takes brk() for one that cannot fail. */
    if (!s->counting || s->over || nr == SYS_brk)
        return;
    if (f->act != ACT_NONE && calls->n == f->at)
        s->replace = act(p, f, nr, args, calls);
    note(calls, nr);
}

/* ---- the loop */

const char *trace_unable(void)
{
#ifdef UNKNOWN_PROCESSOR
    return "the test does not know this processor's system calls";
#else
    pid_t p = fork();
    int status;
    if (p == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1);
    return p > 0 && waitpid(p, &status, 0) == p && status == 0 ? NULL : "processes may not be traced here";
#endif
}

void trace_me(void)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
}

int trace(pid_t child, const struct fault *f, struct calls *calls)
{
    struct state s = {0};
    bool started = false;
    int status;
    calls->n = calls->done = 0;
    for (;;) {
        int sig = 0;
        if (waitpid(child, &status, 0) != child)
            give_up("wait for", "the program");
        if (WIFEXITED(status) || WIFSIGNALED(status))
            return status;
        if (!started) {
            ptrace(PTRACE_SETOPTIONS, child, NULL,
                   (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC));
            started = true;
        } else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            struct __ptrace_syscall_info i;
            if (ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof i, &i) <= 0)
                give_up("trace", "the program");
            if (i.op == PTRACE_SYSCALL_INFO_ENTRY)
                entered(child, &i, f, calls, &s);
            else if (i.op == PTRACE_SYSCALL_INFO_EXIT && s.replace)
                replace_result(child, f);
        } else if (status >> 8 != (SIGTRAP | (PTRACE_EVENT_EXEC << 8))) {
            sig = WSTOPSIG(status);
        }
        if (ptrace(PTRACE_SYSCALL, child, NULL, (void *)(long)sig) != 0 && errno != ESRCH)
            give_up("trace", "the program");
    }
}
