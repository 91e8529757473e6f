/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/write_csv.h"

#include <string.h>

static bool needs_quotes(struct nb_string text, char separator)
{
    bool needs = text.length > 0 && (text.bytes[0] == ' ' || text.bytes[text.length - 1] == ' ');
    for (size_t i = 0; i < text.length; i++)
        needs = needs || text.bytes[i] == separator || strchr("\"\r\n", text.bytes[i]) != NULL;
    return needs;
}

int nb_csv_cell(struct nb_string text, char separator, bool is_first, struct nb_buffer *out)
{
    int rc = is_first ? 0 : nb_buffer_append(out, &separator, 1);
    if (!needs_quotes(text, separator))
        return rc == 0 ? nb_buffer_append(out, text.bytes, text.length) : rc;
    if (rc == 0)
        rc = nb_buffer_puts(out, "\"");
    for (size_t i = 0; i < text.length && rc == 0; i++)
        rc = nb_buffer_append(out, text.bytes[i] == '"' ? "\"\"" : &text.bytes[i],
                              text.bytes[i] == '"' ? 2 : 1);
    return rc == 0 ? nb_buffer_puts(out, "\"") : rc;
}

static int encode(const struct nb_table_form *form, struct nb_string row, bool is_first,
                  struct nb_buffer *bytes, struct nb_error *error)
{
    struct nb_buffer text = {0};
    int rc = 0;
    if (is_first && form->has_mark)
        rc = nb_buffer_puts(&text, "\xEF\xBB\xBF");
    if (rc == 0 && is_first && form->preface[0] != '\0')
        rc = nb_buffer_printf(&text, "%s%s", form->preface, form->line_end);
    if (rc == 0)
        rc = nb_buffer_append(&text, row.bytes, row.length);
    if (rc == 0)
        rc = nb_buffer_puts(&text, form->is_known ? form->line_end : "\n");
    const char *charset = form->is_known ? form->charset : "utf-8";
    struct nb_string all = {text.bytes, text.length};
    rc = rc != 0 ? nb_error_no_memory(error)
                 : nb_charset_from_utf8(nb_string_of(charset), all, bytes, error);
    nb_buffer_deinit(&text);
    return rc;
}

int nb_csv_write_row(const struct nb_table_form *form, struct nb_string row, bool is_first,
                     FILE *out, struct nb_error *error)
{
    struct nb_buffer bytes = {0};
    int rc = encode(form, row, is_first, &bytes, error);
    if (rc == 0 && fwrite(bytes.bytes, 1, bytes.length, out) != bytes.length)
        rc = nb_error_set(error, NB_IO, "standard output cannot be written");
    nb_buffer_deinit(&bytes);
    return rc;
}
