/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/lines.h"
#include "server/client/files/formats.h"
#include "server/client/files/mail_look.h"
#include "tokenizer/charset/decode.h"

struct nb_string nb_read_without_separator(struct nb_string mail)
{
    const char *end = mail.bytes + mail.length;
    if (!nb_lines_is_separator(mail.bytes, end) || memchr(mail.bytes, '\n', mail.length) == NULL)
        return mail;
    return nb_string_from(mail, (size_t)(nb_lines_next(mail.bytes, end) - mail.bytes));
}

/* Reads everything up to the end of the file. */
static int read_all(struct nb_input *input, struct nb_error *error)
{
    int rc;
    while ((rc = nb_input_fill(input, NB_ITEM_MOST + 1, error)) > 0)
        ; /* all of it is kept */
    if (rc == 0 && input->bytes.length > NB_ITEM_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "is larger than %d bytes", NB_ITEM_MOST);
    return rc;
}

/* Refuses binary data: it would teach garbage, and is most likely not a document. */
static int check_text(struct nb_string text, struct nb_error *error)
{
    if (nb_looks_binary(text.bytes, text.length))
        return nb_error_set(error, NB_INVALID,
                            "is binary, neither a text nor a mail (--text reads it all the same)");
    return 0;
}

static int give_text(struct nb_file_reading *reading, struct nb_string all, struct nb_error *error)
{
    const struct nb_files_options *options = reading->files->options;
    struct nb_buffer decoded = {0};
    struct nb_text_charset charset;
    int rc = nb_text_decode_whole(&all, nb_string_of(options->charset), 4 * (size_t)NB_ITEM_MOST,
                                  &decoded, &charset, error);
    if (rc == 0 && !options->is_text)
        rc = check_text(all, error);
    struct nb_item item = {.content = all};
    if (rc == 0) {
        nb_file_reading_tell_charset(reading, &charset);
        rc = nb_file_reading_give(reading, &item, 0, error);
    }
    nb_buffer_deinit(&decoded);
    return rc;
}

int nb_read_lines(struct nb_file_reading *reading, struct nb_error *error)
{
    struct nb_string line;
    uint64_t number = 0, given = 0;
    int rc = nb_file_reading_decode(reading, false, error);
    while (rc == 0 && (rc = nb_input_line(&reading->input, NB_ITEM_MOST, &line, error)) == 1) {
        struct nb_item item = {.content = line};
        number++;
        bool is_blank = nb_string_trim(line).length == 0;
        given += !is_blank;
        rc = is_blank ? 0 : nb_file_reading_give(reading, &item, number, error);
    }
    return rc == 0 && given == 0 ? nb_error_set(error, NB_INVALID, "is empty") : rc;
}

int nb_read_whole(struct nb_file_reading *reading, struct nb_error *error)
{
    const struct nb_files_options *options = reading->files->options;
    int rc = read_all(&reading->input, error);
    if (rc != 0)
        return rc;
    struct nb_string all = nb_input_unused(&reading->input);
    struct nb_item item = {0};
    item.content = nb_read_without_separator(all);
    item.is_mail =
        options->is_mail ||
        (!options->is_text && nb_looks_like_mail(item.content.bytes, item.content.length));
    if (!item.is_mail)
        item.content = all;
    if (item.content.length == 0)
        return nb_error_set(error, NB_INVALID, "is empty");
    if (!item.is_mail)
        return give_text(reading, all, error);
    return nb_file_reading_give(reading, &item, 0, error);
}
