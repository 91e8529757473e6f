/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/terminal/ask.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "server/client/terminal/terminal.h"

bool nb_ask_is_possible(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

bool nb_ask(const char *format, ...)
{
    char question[1024], line[64];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(question, sizeof question, format, arguments);
    va_end(arguments);
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s [y/N] ", nb_shown(question).text);
    if (fgets(line, sizeof line, stdin) == NULL)
        return false;
    return line[0] == 'y' || line[0] == 'Y';
}
