/* Runs commands in turn and compares them: measure ROUNDS TITLE [JSON] <LIST
 *
 * LIST has one command a line: a label, a tab, a shell command. The first is what the others are compared
 * with. A command that writes does so to "$OUT", which is removed before each run, as is "$CLEAN" (fresh
 * files each time; removing is not timed). One round is run first, untimed, to warm the page cache and to
 * watch memory.
 *
 * Printed for each: median seconds, user + system seconds, the median of the ratios to the first command of
 * the same round with their smallest and largest, the same of user + system seconds (which other work on the
 * machine disturbs less), and peak anonymous memory: pages that no file backs, the
 * largest value seen in /proc while the untimed round ran, plus those of one look each millisecond. Appended
 * to JSON: the same, one object a line. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS 16
#define ROUNDS   101

struct command {
    char *label, *line;
    double wall[ROUNDS], cpu[ROUNDS], ratio[ROUNDS], cpu_ratio[ROUNDS];
    long anon; /* KiB */
    bool failed;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* RssAnon of a process now, in KiB; 0 when it is gone. */
static long anon_of(pid_t pid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *line = strstr(text, "RssAnon:");
    return line ? atol(line + strlen("RssAnon:")) : 0;
}

static pid_t start(const char *line)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    if (!getenv("BENCH_VERBOSE"))
        dup2(null, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

static void watch(struct command *c, pid_t pid, int *status)
{
    struct timespec tick = {0, 1000000};
    while (waitpid(pid, status, WNOHANG) == 0) {
        long anon = anon_of(pid);
        if (anon > c->anon)
            c->anon = anon;
        nanosleep(&tick, NULL);
    }
}

static void run(struct command *c, int round)
{
    struct rusage use;
    char line[8192];
    int status = 0;
    const char *out = getenv("OUT"), *clean = getenv("CLEAN");
    if (out && *out)
        unlink(out);
    if (clean && *clean)
        unlink(clean);
    /* A list of commands needs the shell; a single one takes its place. */
    snprintf(line, sizeof line, "%s%s", strpbrk(c->line, ";&|") ? "" : "exec ", c->line);
    double from = now();
    pid_t pid = start(line);
    if (pid < 0) {
        c->failed = true;
    } else if (round < 0) {
        watch(c, pid, &status);
    } else if (wait4(pid, &status, 0, &use) == pid) {
        c->wall[round] = now() - from;
        c->cpu[round] = seconds(use.ru_utime) + seconds(use.ru_stime);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        c->failed = true;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sorts a copy: the median, and the ends. */
static double median(const double *v, int n, double *low, double *high)
{
    double s[ROUNDS];
    memcpy(s, v, (size_t)n * sizeof *s);
    qsort(s, (size_t)n, sizeof *s, by_value);
    *low = s[0];
    *high = s[n - 1];
    return n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

static void print(const struct command *c, int rounds, const char *title, FILE *json)
{
    double low, high, ignored;
    double wall = median(c->wall, rounds, &ignored, &ignored),
           cpu = median(c->cpu, rounds, &ignored, &ignored), ratio = median(c->ratio, rounds, &low, &high),
           cpu_ratio = median(c->cpu_ratio, rounds, &ignored, &ignored);
    if (c->failed) {
        printf("%-28s failed\n", c->label);
        return;
    }
    printf("%-28s %9.3f %9.3f %9.2f  (%.2f-%.2f) %9.2f %10.1f\n", c->label, wall, cpu, ratio, low, high,
           cpu_ratio, (double)c->anon / 1024);
    if (json)
        fprintf(json,
                "{\"input\": \"%s\", \"what\": \"%s\", \"rounds\": %d, \"seconds\": %.4f, \"cpu\": %.4f, "
                "\"ratio\": %.3f, \"cpu_ratio\": %.3f, \"ratio_low\": %.3f, \"ratio_high\": %.3f, "
                "\"anon_kib\": %ld}\n",
                title, c->label, rounds, wall, cpu, ratio, cpu_ratio, low, high, c->anon);
}

static int read_list(struct command *c)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    int n = 0;
    while (n < COMMANDS && (len = getline(&line, &cap, stdin)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *tab = strchr(line, '\t');
        if (!tab)
            continue;
        *tab = '\0';
        c[n++] = (struct command){.label = strdup(line), .line = strdup(tab + 1)};
    }
    free(line);
    return n;
}

int main(int argc, char **argv)
{
    static struct command c[COMMANDS];
    int rounds = argc >= 3 ? atoi(argv[1]) : 0, n = rounds ? read_list(c) : 0;
    if (n == 0 || rounds < 1 || rounds > ROUNDS) {
        fprintf(stderr, "usage: measure ROUNDS TITLE [JSON] <LIST (see the top of bench/measure.c)\n");
        return 2;
    }
    FILE *json = argc > 3 ? fopen(argv[3], "a") : NULL;
    for (int round = -1; round < rounds; round++)
        for (int i = 0; i < n; i++)
            run(&c[i], round);
    printf("%-28s %9s %9s %9s  %-11s %9s %10s\n", argv[2], "seconds", "cpu", "ratio", "(spread)", "cpu ratio",
           "anon MB");
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < rounds; r++) {
            c[i].ratio[r] = c[i].wall[r] / c[0].wall[r];
            c[i].cpu_ratio[r] = c[i].cpu[r] / c[0].cpu[r];
        }
        print(&c[i], rounds, argv[2], json);
        free(c[i].label);
        free(c[i].line);
    }
    return json && fclose(json) != 0 ? 1 : 0;
}
