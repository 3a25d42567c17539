/* Colours of what people read. */
#ifndef SACTAG_CLI_STYLE_H
#define SACTAG_CLI_STYLE_H

#include <stdbool.h>
#include <stdio.h>

#define BOLD   "\033[1m"
#define FAINT  "\033[2m"
#define RED    "\033[31m"
#define GREEN  "\033[32m"
#define YELLOW "\033[33m"
#define CYAN   "\033[36m"
#define RESET  "\033[0m"

/* Switches a colour on, or all off by RESET. */
static inline void style(FILE *f, bool color, const char *code)
{
    if (color)
        fputs(code, f);
}

#endif
