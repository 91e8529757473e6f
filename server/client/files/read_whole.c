/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/client/files/formats.h"
#include "server/client/files/mail_look.h"

struct nb_string nb_read_without_separator(struct nb_string mail)
{
    const char *newline = mail.length > 5 && memcmp(mail.bytes, "From ", 5) == 0
                              ? memchr(mail.bytes, '\n', mail.length)
                              : NULL;
    if (newline == NULL)
        return mail;
    size_t length = (size_t)(newline + 1 - mail.bytes);
    return (struct nb_string){mail.bytes + length, mail.length - length};
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

int nb_read_whole(struct nb_reading *reading, struct nb_error *error)
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
    return nb_reading_give(reading, &item, 0, error);
}
