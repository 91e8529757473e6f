/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of text, as mail has them: they end with LF or CRLF, the last one perhaps with neither.
 * Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_LINES_H
#define NB_CORE_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/base/string.h"

/* The first byte behind the line at `line`, and behind its line end; `end` for the last line. */
static inline const char *nb_lines_next(const char *line, const char *end)
{
    const char *newline = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    return newline != NULL ? newline + 1 : end;
}

/* Whether there is an empty line at `line`: nothing but a line end. */
static inline bool nb_lines_is_empty(const char *line, const char *end)
{
    return line < end && (*line == '\n' || (*line == '\r' && end - line > 1 && line[1] == '\n'));
}

/* Whether the line at `line` begins as the separator of an mbox does, "From " (RFC 4155). */
static inline bool nb_lines_is_separator(const char *line, const char *end)
{
    return end - line >= 5 && memcmp(line, "From ", 5) == 0;
}

/* The bytes of the separator line at the beginning of a mail, line end included; 0 if there is
 * none. Some programs leave it there when they take a mail out of an mbox. */
static inline size_t nb_lines_separator(struct nb_string mail)
{
    const char *end = mail.bytes + mail.length;
    if (mail.length == 0 || !nb_lines_is_separator(mail.bytes, end))
        return 0;
    const char *next = nb_lines_next(mail.bytes, end);
    return next[-1] == '\n' ? (size_t)(next - mail.bytes) : 0;
}

#endif
