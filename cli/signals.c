#include "cli/signals.h"

#include "sactag.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* Written only while `have_...` is 0, read by handlers only while it is 1. */
static char temporary[PATH_MAX];
static volatile sig_atomic_t have_temporary;
static char input[256];
static volatile sig_atomic_t have_input;
static volatile sig_atomic_t progress_line;

static void say(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

static void clean_up(void)
{
    if (have_temporary)
        unlink(temporary);
    if (progress_line)
        say("\r\033[K");
}

/* Installed with SA_RESETHAND: once it returns, the signal raised here is delivered with its default
 * action. */
static void on_fatal(int sig)
{
    clean_up();
    raise(sig);
}

static void on_bus(int sig, siginfo_t *info, void *context)
{
    (void)context;
    clean_up();
    if (info->si_code != BUS_ADRERR || !have_input) {
        raise(sig);
        return;
    }
    say("sactag: ");
    say(input);
    say(": the file became shorter while it was being read\n");
    _exit(5);
}

static void install(int sig)
{
    struct sigaction old, now = {.sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&now.sa_mask);
    if (sigaction(sig, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(sig, &now, NULL);
}

void signals_install(void)
{
    struct sigaction bus = {.sa_sigaction = on_bus, .sa_flags = (int)SA_RESETHAND | SA_SIGINFO};
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    install(SIGINT);
    install(SIGTERM);
    install(SIGHUP);
    install(SIGQUIT);
    install(SIGPIPE);
    sigemptyset(&bus.sa_mask);
    sigaction(SIGBUS, &bus, NULL);
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGXFSZ, &ignore, NULL);
}

void signals_input(const char *name)
{
    have_input = 0;
    atomic_signal_fence(memory_order_seq_cst);
    if (!name)
        return;
    /* Longer names are cut: the handler may not allocate. */
    sactag_escape(input, sizeof input, (struct sactag_text){name, strlen(name)});
    atomic_signal_fence(memory_order_seq_cst);
    have_input = 1;
}

void signals_temporary(void *ctx, const char *path)
{
    (void)ctx;
    have_temporary = 0;
    atomic_signal_fence(memory_order_seq_cst);
    if (!path || strlen(path) >= sizeof temporary)
        return;
    strcpy(temporary, path);
    atomic_signal_fence(memory_order_seq_cst);
    have_temporary = 1;
}

void signals_progress_line(int shown)
{
    progress_line = shown;
}
