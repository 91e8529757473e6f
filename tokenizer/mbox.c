/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mbox.h"

#include <string.h>

#include "core/base/error.h"

static const char SEPARATOR[] = "From ";
enum { SEPARATOR_LENGTH = sizeof SEPARATOR - 1 };

struct nb_mbox nb_mbox_of(const char *bytes, size_t length)
{
    return (struct nb_mbox){.at = bytes, .end = length == 0 ? bytes : bytes + length};
}

/* The first byte behind the line at `at`. */
static const char *next_line(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline == NULL ? end : newline + 1;
}

static bool is_blank(const char *line, const char *next)
{
    return line < next &&
           (line[0] == '\n' || (line[0] == '\r' && next - line == 2 && line[1] == '\n'));
}

static bool is_separator(const char *line, const char *next)
{
    return next - line > SEPARATOR_LENGTH && memcmp(line, SEPARATOR, SEPARATOR_LENGTH) == 0;
}

/* ">From ", ">>From ": a line that began with "From " (mboxo), or with '>'s and "From " (mboxrd).
 */
static bool is_quoted(const char *line, const char *next)
{
    const char *p = line;
    while (p < next && *p == '>')
        p++;
    return p > line && next - p >= SEPARATOR_LENGTH && memcmp(p, SEPARATOR, SEPARATOR_LENGTH) == 0;
}

int nb_mbox_next(struct nb_mbox *mbox, struct nb_buffer *mail)
{
    mail->length = 0;
    const char *line = mbox->at;
    const char *next = line;
    while (line < mbox->end && is_blank(line, next = next_line(line, mbox->end)))
        line = next;
    if (line == mbox->end) {
        mbox->at = mbox->end;
        return 0;
    }
    if (!is_separator(line, next))
        return NB_INVALID;
    /* Whole lines are copied in runs: [begin, line) is what is still to be copied. A blank line is
     * held back until it is known that no "From " line follows. */
    const char *begin = line = next;
    const char *blank = NULL;
    for (; line < mbox->end; line = next) {
        next = next_line(line, mbox->end);
        if (blank != NULL && is_separator(line, next))
            break;
        blank = is_blank(line, next) ? line : NULL;
        if (!is_quoted(line, next))
            continue;
        if (nb_buffer_append(mail, begin, (size_t)(line - begin)) != 0)
            return NB_NO_MEMORY;
        begin = line + 1;
    }
    const char *end = blank != NULL ? blank : line;
    if (nb_buffer_append(mail, begin, (size_t)(end - begin)) != 0)
        return NB_NO_MEMORY;
    mbox->at = line;
    return 1;
}
