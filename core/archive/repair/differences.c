/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/repair/differences.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_MOST = 512, REPORT_MOST = 100 };

void nb_differ(struct nb_differences *d, const char *format, ...)
{
    char line[LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    d->count++;
    if (d->count <= REPORT_MOST)
        d->report(d->user, line);
    if (d->count == REPORT_MOST)
        d->report(d->user, "... further differences are only counted");
}

void nb_lose(struct nb_differences *d, const char *format, ...)
{
    char line[LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    nb_differ(d, "%s", line);
    d->lost++;
}
