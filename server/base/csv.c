/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/csv.h"

#include <string.h>

static char separator_of(const struct nb_csv *csv)
{
    bool is_quoted = false, has_semicolon = false, has_tab = false;
    for (const char *c = csv->at; c < csv->end; c++) {
        is_quoted = is_quoted != (*c == '"');
        if (is_quoted)
            continue;
        if (*c == '\n' || *c == '\r')
            break;
        if (*c == ',')
            return ',';
        has_semicolon = has_semicolon || *c == ';';
        has_tab = has_tab || *c == '\t';
    }
    return has_semicolon ? ';' : has_tab ? '\t' : ',';
}

/* Whether a CR at `at` ends a line. */
static bool is_return(const struct nb_csv *csv, const char *at)
{
    return *at == '\r' && (csv->has_returns || (csv->end - at >= 2 && at[1] == '\n'));
}

void nb_csv_init(struct nb_csv *csv, struct nb_string text)
{
    if (nb_string_starts(text, "\xEF\xBB\xBF"))
        text = nb_string_from(text, 3);
    const char *at = text.length == 0 ? "" : text.bytes;
    *csv = (struct nb_csv){.at = at, .end = at + text.length, .next = 1, .separator = ','};
    csv->has_returns = text.length > 0 && memchr(at, '\n', text.length) == NULL;
    if (nb_string_starts_nocase(text, "sep=") && text.length > 5 &&
        (at[5] == '\n' || at[5] == '\r')) {
        csv->separator = at[4];
        csv->at += at[5] == '\r' && text.length > 6 && at[6] == '\n' ? 7 : 6;
        csv->next = 2;
    } else {
        csv->separator = separator_of(csv);
    }
}

void nb_csv_deinit(struct nb_csv *csv)
{
    nb_buffer_deinit(&csv->unquoted);
}

bool nb_csv_is_end(const struct nb_csv *csv)
{
    return csv->at == csv->end;
}

/* Takes the text between two fields: the separator, or a line's end. Returns false for anything
 * else. */
static bool take_separator(struct nb_csv *csv, struct nb_csv_field *field)
{
    field->is_last = true;
    if (csv->at < csv->end && *csv->at == csv->separator) {
        csv->at++;
        field->is_last = false;
        return true;
    }
    if (csv->end - csv->at >= 2 && csv->at[0] == '\r' && csv->at[1] == '\n')
        csv->at++;
    else if (csv->at < csv->end && is_return(csv, csv->at)) {
        csv->at++;
        csv->next++;
        return true;
    }
    if (csv->at < csv->end && *csv->at != '\n')
        return false;
    csv->at += csv->at < csv->end;
    csv->next++;
    return true;
}

/* Reads from after the opening quote up to the closing one; two quotes stand for one. */
static int read_quoted(struct nb_csv *csv, struct nb_csv_field *field, struct nb_error *error)
{
    csv->unquoted.length = 0;
    for (;;) {
        const char *quote =
            csv->at < csv->end ? memchr(csv->at, '"', (size_t)(csv->end - csv->at)) : NULL;
        if (quote == NULL)
            return nb_error_set(error, NB_INVALID, "line %zu: a quoted field is not closed",
                                csv->line);
        bool is_text = quote + 1 < csv->end && quote[1] == '"';
        for (const char *c = csv->at; c < quote; c++)
            csv->next += *c == '\n';
        if (nb_buffer_append(&csv->unquoted, csv->at, (size_t)(quote - csv->at) + is_text) != 0)
            return nb_error_no_memory(error);
        csv->at = quote + 1 + is_text;
        if (!is_text)
            break;
    }
    field->text = (struct nb_string){csv->unquoted.bytes, csv->unquoted.length};
    field->is_quoted = true;
    if (take_separator(csv, field))
        return 0;
    return nb_error_set(error, NB_INVALID,
                        "line %zu: a separator or the line's end must follow the closing quote",
                        csv->line);
}

int nb_csv_next(struct nb_csv *csv, struct nb_csv_field *field, struct nb_error *error)
{
    csv->line = csv->next;
    *field = (struct nb_csv_field){.is_quoted = false};
    if (csv->at < csv->end && *csv->at == '"') {
        csv->at++;
        return read_quoted(csv, field, error);
    }
    const char *start = csv->at;
    while (csv->at < csv->end && *csv->at != csv->separator && *csv->at != '\n' &&
           !is_return(csv, csv->at))
        csv->at++;
    field->text = (struct nb_string){start, (size_t)(csv->at - start)};
    (void)take_separator(csv, field); /* succeeds: the loop ended at a separator */
    return 0;
}
