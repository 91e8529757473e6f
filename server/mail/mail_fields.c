/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/mail_fields.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/string.h"

/* Returns the end of a piece. A bare CR ends no line of a mail (RFC 5322, 2.3), but some readers
 * take it for a line end. So lines are examined in pieces, which begin behind LF or a bare CR. */
static const char *piece_end(const char *at, const char *end)
{
    while (at < end && *at != '\n' && !(*at == '\r' && (at + 1 == end || at[1] != '\n')))
        at++;
    return at < end ? at + 1 : end;
}

/* Control characters in a name are ignored, because some readers drop them. */
static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7F;
}

/* Returns the first byte of the line that is not ignored, or the end of the line. */
static const char *skip_controls(const char *line, const char *end)
{
    while (line < end && *line != '\n' && is_control(*line))
        line++;
    return line;
}

/* Returns the colon behind the name when the line at `line` begins the field, NULL when not. RFC
 * 5322, 4.5.8 lets blanks stand before the colon. */
static const char *colon_of(struct nb_string name, const char *line, const char *end)
{
    size_t matched = 0;
    for (const char *p = line; p < end && *p != '\n'; p++) {
        if (is_control(*p))
            continue;
        if (matched < name.length) {
            if (nb_ascii_lower(*p) != nb_ascii_lower(name.bytes[matched++]))
                return NULL;
        } else if (*p != ' ') {
            return *p == ':' ? p : NULL;
        }
    }
    return NULL;
}

static const char *listed_colon(const struct nb_fields *fields, const char *line, const char *end)
{
    const char *colon = NULL;
    for (size_t i = 0; i < fields->name_count && colon == NULL; i++)
        colon = colon_of(fields->names[i], line, end);
    return colon;
}

/* Keeps the end of a line whose last piece is dropped, instead of the bare CR before that piece. */
static int keep_line_end(const char *piece, const char *next, struct nb_buffer *out)
{
    bool is_crlf = next - piece >= 2 && next[-2] == '\r';
    if (next[-1] != '\n' || out->length == 0 || out->bytes[out->length - 1] != '\r')
        return 0;
    out->length -= !is_crlf;
    return nb_buffer_append(out, "\n", 1);
}

/* Whether a piece continues the one before it: a folded line, the rest of a name, or a line end. */
static bool is_continued(const char *piece, const char *next, bool is_line, const char *colon)
{
    bool is_blank = *piece == ' ' || *piece == '\t';
    bool is_end = !is_line && (*piece == '\n' || *piece == '\r') && next - piece <= 2;
    return is_blank || is_end || (colon != NULL && piece <= colon);
}

/* Copies the header without the listed fields; returns where the body (its blank line) begins, or
 * NULL without memory. Folded lines are dropped with their field. */
static const char *copy_header(const struct nb_fields *fields, const char *piece, const char *end,
                               struct nb_buffer *out)
{
    const char *colon = NULL; /* the colon of the field that is being dropped; NULL: none is */
    bool is_line = true;      /* the piece begins behind LF */
    /* The first byte that is not ignored, from the piece that was looked up last on. Pieces before
     * this byte have the same result and are not looked up again, because each look-up would read
     * on to this byte. */
    const char *known = piece;
    while (piece < end) {
        const char *next = piece_end(piece, end);
        if (is_line && nb_lines_is_empty(piece, next))
            break;
        if (piece >= known && !is_continued(piece, next, is_line, colon)) {
            known = skip_controls(piece, end);
            colon = listed_colon(fields, known, end);
        }
        int rc = colon == NULL ? nb_buffer_append(out, piece, (size_t)(next - piece))
                               : keep_line_end(piece, next, out);
        if (rc != 0)
            return NULL;
        is_line = next[-1] == '\n';
        piece = next;
    }
    return piece;
}

/* Adds the lines of `text`, behind an mbox "From " line if there is one. That line has no line end
 * if nothing follows it. */
static int add_lines(const struct nb_buffer *text, bool is_crlf, struct nb_buffer *out)
{
    if (text->length == 0)
        return 0;
    if (out->length > 0 && out->bytes[out->length - 1] != '\n' && nb_buffer_puts(out, "\n") != 0)
        return NB_NO_MEMORY;
    const char *line = text->bytes, *end = line + text->length;
    while (line < end) {
        const char *next = nb_lines_next(line, end);
        int rc = nb_buffer_append(out, line, (size_t)(next - line) - 1);
        if (rc == 0)
            rc = nb_buffer_puts(out, is_crlf ? "\r\n" : "\n");
        if (rc != 0)
            return rc;
        line = next;
    }
    return 0;
}

int nb_fields_apply(const struct nb_fields *fields, struct nb_string mail, struct nb_buffer *out)
{
    const char *line = mail.bytes, *end = mail.bytes + mail.length;
    const char *next = nb_lines_next(line, end);
    bool is_crlf = next - line >= 2 && next[-1] == '\n' && next[-2] == '\r';
    int rc = 0;
    if (nb_lines_is_separator(line, end)) {
        rc = copy_header(fields, line, next, out) != NULL ? 0 : NB_NO_MEMORY;
        line = next;
    }
    if (rc == 0)
        rc = add_lines(&fields->text, is_crlf, out);
    if (rc != 0)
        return rc;
    const char *body = copy_header(fields, line, end, out);
    return body == NULL ? NB_NO_MEMORY : nb_buffer_append(out, body, (size_t)(end - body));
}
