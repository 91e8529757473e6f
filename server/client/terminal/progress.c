/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/terminal/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "server/client/terminal/terminal.h"

enum { REDRAW_NS = 200 * 1000 * 1000, BAR_COLUMNS = 24 };
static const double NS = 1e9;

void nb_progress_start(struct nb_progress *progress, const char *verb, uint64_t total)
{
    *progress = (struct nb_progress){.verb = verb, .total = total, .start = nb_clock_monotonic()};
    progress->is_shown = isatty(STDERR_FILENO);
}

double nb_progress_seconds(const struct nb_progress *progress)
{
    return (double)(nb_clock_monotonic() - progress->start) / NS;
}

/* Draws the bar. Erases the line first: a shorter line would leave the end of the old one. */
static void draw(const struct nb_progress *p)
{
    double seconds = nb_progress_seconds(p);
    double rate = seconds > 0 ? (double)p->documents / seconds : 0;
    (void)fputs("\r\033[K", stderr);
    if (p->total > 0) {
        double share = p->bytes < p->total ? (double)p->bytes / (double)p->total : 1.0;
        int full = (int)(share * BAR_COLUMNS);
        (void)fputc('[', stderr);
        for (int i = 0; i < BAR_COLUMNS; i++)
            (void)fputc(i < full ? '#' : '.', stderr);
        (void)fprintf(stderr, "] %3.0f %%  ", share * 100);
        if (share > 0.005)
            (void)fprintf(stderr, "%s left  ",
                          nb_figure_of_seconds(seconds * (1 - share) / share).text);
    }
    (void)fprintf(stderr, "%s documents %s, %.0f/s", nb_figure_of(p->documents).text, p->verb,
                  rate);
    (void)fflush(stderr);
}

void nb_progress_add(struct nb_progress *progress, uint64_t bytes)
{
    progress->documents++;
    progress->bytes += bytes;
    if (!progress->is_shown)
        return;
    uint64_t now = nb_clock_monotonic();
    if (now - progress->drawn < REDRAW_NS)
        return;
    progress->drawn = now;
    draw(progress);
}

void nb_progress_end(struct nb_progress *progress)
{
    if (progress->is_shown && progress->drawn > 0)
        (void)fputs("\r\033[K", stderr);
    progress->is_shown = false;
}
