/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/write_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/string.h"
#include "tokenizer/charset/charset.h"

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

/* Appends the text, with a question mark in place of each character that is not in the charset. */
static int replace_missing(struct nb_string charset, struct nb_string text, uint64_t *lost,
                           struct nb_buffer *out)
{
    const unsigned char *at = (const unsigned char *)text.bytes, *end = at + text.length;
    struct nb_buffer bytes = {0};
    int rc = 0;
    while (at < end && rc == 0) {
        size_t length = nb_utf8_sequence(at, end);
        struct nb_string one = {(const char *)at, length > 0 ? length : 1};
        bytes.length = 0;
        int code = *at < 0x80 ? 0 : nb_charset_from_utf8(charset, one, &bytes, NULL);
        *lost += code == NB_INVALID;
        rc = code == NB_INVALID ? nb_buffer_puts(out, "?")
             : code == 0        ? nb_buffer_append(out, one.bytes, one.length)
                                : code;
        at += one.length;
    }
    nb_buffer_deinit(&bytes);
    return rc;
}

/* Makes the row as it will be written, in UTF-8; with `lost`, added characters outside the charset
 * are replaced. */
static int join(const struct nb_table_form *form, const struct nb_csv_row *row, uint64_t *lost,
                struct nb_buffer *text)
{
    int rc = 0;
    text->length = 0;
    if (row->is_first && form->has_mark)
        rc = nb_buffer_puts(text, "\xEF\xBB\xBF");
    if (rc == 0 && row->is_first && form->preface[0] != '\0')
        rc = nb_buffer_printf(text, "%s%s", form->preface, form->line_end);
    if (rc == 0)
        rc = nb_buffer_append(text, row->own.bytes, row->own.length);
    if (rc == 0)
        rc = lost == NULL ? nb_buffer_append(text, row->added.bytes, row->added.length)
                          : replace_missing(nb_string_of(form->charset), row->added, lost, text);
    return rc == 0 ? nb_buffer_puts(text, form->is_known ? form->line_end : "\n") : rc;
}

static int encode(const struct nb_table_form *form, const struct nb_csv_row *row, uint64_t *lost,
                  struct nb_buffer *bytes, struct nb_error *error)
{
    struct nb_string charset = nb_string_of(form->is_known ? form->charset : "utf-8");
    struct nb_buffer text = {0};
    int rc = NB_INVALID;
    for (int turn = 0; turn < 2 && rc == NB_INVALID; turn++) {
        bytes->length = 0;
        rc = join(form, row, turn == 0 ? NULL : lost, &text);
        struct nb_string all = {text.bytes, text.length};
        rc = rc != 0 ? nb_error_no_memory(error) : nb_charset_from_utf8(charset, all, bytes, error);
    }
    nb_buffer_deinit(&text);
    return rc;
}

int nb_csv_write_row(const struct nb_table_form *form, const struct nb_csv_row *row, uint64_t *lost,
                     FILE *out, struct nb_error *error)
{
    struct nb_buffer bytes = {0};
    int rc = encode(form, row, lost, &bytes, error);
    if (rc == 0 && fwrite(bytes.bytes, 1, bytes.length, out) != bytes.length)
        rc = nb_error_set(error, NB_IO, "standard output cannot be written");
    nb_buffer_deinit(&bytes);
    return rc;
}

static int finish(FILE *out, const char *temporary, const char *name, struct nb_error *error)
{
    bool is_written = fflush(out) == 0 && fsync(fileno(out)) == 0;
    int written_errno = errno;
    if (fclose(out) != 0 || !is_written)
        return nb_error_errno(error, is_written ? errno : written_errno, name);
    return rename(temporary, name) == 0 ? 0 : nb_error_errno(error, errno, name);
}

int nb_write_file(const char *name, nb_write_content *content, void *user, struct nb_error *error)
{
    struct nb_buffer temporary = {0};
    if (strcmp(name, "-") == 0)
        return content(user, stdout, error);
    if (nb_buffer_printf(&temporary, "%s.part", name) != 0)
        return nb_error_no_memory(error);
    FILE *out = fopen(temporary.bytes, "we");
    int rc =
        out != NULL ? content(user, out, error) : nb_error_errno(error, errno, temporary.bytes);
    if (rc == 0)
        rc = finish(out, temporary.bytes, name, error);
    else if (out != NULL)
        (void)fclose(out); /* the file is removed */
    if (rc != 0 && out != NULL)
        (void)unlink(temporary.bytes);
    nb_buffer_deinit(&temporary);
    return rc;
}
