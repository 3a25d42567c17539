/* Signals: an interrupted or failing run leaves no temporary file behind.
 *
 * The only place with static state, since a handler can be told nothing else. */
#ifndef SACTAG_CLI_SIGNALS_H
#define SACTAG_CLI_SIGNALS_H

/* Installs the handlers: SIGINT, SIGTERM, SIGHUP, SIGPIPE and SIGQUIT remove the temporary file and then do
 * what they always do (those that were ignored stay ignored); SIGBUS, which the kernel sends when a mapped
 * file is truncated, says so and exits with 5; SIGXFSZ is ignored, so that a write past a limit fails with
 * an error that is reported. */
void signals_install(void);

/* The input that is mapped now: what the message names when SIGBUS comes. NULL: none. */
void signals_input(const char *name);

/* The temporary file that is to be removed, NULL when there is none any more. `ctx` is not used: this is
 * the `temporary` callback of struct sactag_write_options. */
void signals_temporary(void *ctx, const char *path);

/* While a progress line stands on the terminal, a signal wipes it. */
void signals_progress_line(int shown);

#endif
