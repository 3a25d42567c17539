#include "cli/progress.h"

#include "cli/signals.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 1000 /* work shorter than this shows nothing */
#define INTERVAL_MS 100

/* What the alarm's handler writes; set only while the alarm is off. */
static char alarm_line[160];

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void write_line(const char *line)
{
    signals_progress_line(1);
    ssize_t ignored = write(STDERR_FILENO, line, strlen(line));
    (void)ignored;
}

static void on_alarm(int sig)
{
    (void)sig;
    write_line(alarm_line);
}

static void set_alarm(unsigned ms)
{
    struct itimerval t = {.it_value = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000}};
    setitimer(ITIMER_REAL, &t, NULL);
}

void progress_begin(struct progress *p, const struct voice *v, const char *verb, const char *file)
{
    struct sigaction alarm_action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    char name[96];

    memset(p, 0, sizeof *p);
    p->wanted = !v->quiet && isatty(STDERR_FILENO);
    if (!p->wanted)
        return;
    p->start = now_ms();
    sactag_escape(name, sizeof name, (struct sactag_text){file, strlen(file)});
    snprintf(p->what, sizeof p->what, "%s %s", verb, name);
    snprintf(alarm_line, sizeof alarm_line, "\rsactag: %s ...\033[K", p->what);
    sigemptyset(&alarm_action.sa_mask);
    sigaction(SIGALRM, &alarm_action, NULL);
    set_alarm(PATIENCE_MS);
}

void progress_report(void *ctx, uint64_t done, uint64_t total)
{
    struct progress *p = ctx;
    uint64_t now;
    char line[256];

    if (!p->wanted || total == 0)
        return;
    now = now_ms();
    if (now - p->start < PATIENCE_MS || now - p->at < INTERVAL_MS)
        return;
    set_alarm(0);
    p->at = now;
    snprintf(line, sizeof line, "\rsactag: %s: %3.0f %% of %.1f MB\033[K", p->what,
             100.0 * (double)done / (double)total, (double)total / 1e6);
    write_line(line);
}

void progress_end(struct progress *p)
{
    if (!p->wanted)
        return;
    set_alarm(0);
    if (now_ms() - p->start >= PATIENCE_MS)
        write_line("\r\033[K");
    signals_progress_line(0);
    p->wanted = false;
}
