/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail/mbox.h"

#include "core/base/error.h"
#include "core/base/lines.h"

struct nb_mbox nb_mbox_of(const char *bytes, size_t length)
{
    return (struct nb_mbox){.at = bytes, .end = length == 0 ? bytes : bytes + length};
}

/* Whether a line is quoted: ">From " was "From " (mboxo), ">>From " was ">From " (mboxrd). */
static bool is_quoted(const char *line, const char *next)
{
    const char *p = line;
    while (p < next && *p == '>')
        p++;
    return p > line && nb_lines_is_separator(p, next);
}

int nb_mbox_next(struct nb_mbox *mbox, struct nb_buffer *mail)
{
    mail->length = 0;
    const char *line = mbox->at;
    const char *next = line;
    while (line < mbox->end && nb_lines_is_empty(line, next = nb_lines_next(line, mbox->end)))
        line = next;
    if (line == mbox->end) {
        mbox->at = mbox->end;
        return 0;
    }
    if (!nb_lines_is_separator(line, next))
        return NB_INVALID;
    /* Lines are copied in runs: the bytes from `begin` to `line` are still to be copied. An empty
     * line is copied only when it is clear that no "From " line follows. */
    const char *begin = line = next;
    const char *blank = NULL;
    for (; line < mbox->end; line = next) {
        next = nb_lines_next(line, mbox->end);
        if (blank != NULL && nb_lines_is_separator(line, next))
            break;
        blank = nb_lines_is_empty(line, next) ? line : NULL;
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
