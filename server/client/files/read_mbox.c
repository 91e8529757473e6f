/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/client/files/formats.h"
#include "tokenizer/mail/mail_file.h"
#include "tokenizer/mail/mbox.h"

enum { LOOKED_AT = 4096 /* bytes examined for the line ends */ };

/* Returns the beginning of the next mail after `from`: "From " after an empty line. NULL if it has
 * not been read yet. */
static const char *next_mail(const char *from, const char *end)
{
    for (const char *p = from; (p = memmem(p, (size_t)(end - p), "\nFrom ", 6)) != NULL; p++) {
        bool is_blank =
            p > from && (p[-1] == '\n' || (p - 1 > from && p[-1] == '\r' && p[-2] == '\n'));
        if (is_blank)
            return p + 1;
    }
    return NULL;
}

/* Passes on the mails of an mbox or a part of one. */
static int give_mails(struct nb_file_reading *reading, struct nb_string bytes,
                      struct nb_buffer *mail, uint64_t *number, struct nb_error *error)
{
    struct nb_mbox mbox = nb_mbox_of(bytes.bytes, bytes.length);
    int rc;
    while ((rc = nb_mbox_next(&mbox, mail)) == 1) {
        struct nb_item item = {.is_mail = true, .content = {mail->bytes, mail->length}};
        ++*number;
        if (mail->length == 0)
            continue;
        rc = nb_file_reading_give(reading, &item, *number, error);
        if (rc != 0)
            return rc;
    }
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0
               ? 0
               : nb_error_set(error, NB_INVALID, "is not an mbox: it does not begin with 'From '");
}

/* Passes on the mails in the next `length` bytes of the input, and consumes these bytes. */
static int give_next(struct nb_file_reading *reading, size_t length, struct nb_buffer *mail,
                     uint64_t *number, struct nb_error *error)
{
    struct nb_string bytes = {nb_input_unused(&reading->input).bytes, length};
    int rc = give_mails(reading, bytes, mail, number, error);
    if (rc == 0)
        reading->input.at += length;
    return rc;
}

/* Reads an mbox in UTF-16 or with lines that end with CR alone. Converts the whole file at once. */
static int read_converted(struct nb_file_reading *reading, struct nb_error *error)
{
    struct nb_input *input = &reading->input;
    struct nb_buffer out = {0}, mail = {0};
    struct nb_string lines = {0};
    uint64_t number = 0;
    int rc;
    while ((rc = nb_input_fill(input, NB_ITEM_MOST + 1, error)) > 0)
        ; /* all of it is kept */
    if (rc == 0 && input->bytes.length > NB_ITEM_MOST)
        rc = nb_error_set(error, NB_TOO_LARGE,
                          "is larger than %d bytes, and an mbox of this size needs lines that end "
                          "with LF, and no UTF-16",
                          NB_ITEM_MOST);
    if (rc == 0 && nb_mail_file_lines(nb_input_unused(input), &out, &lines) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = give_mails(reading, lines, &mail, &number, error);
    nb_buffer_deinit(&out);
    nb_buffer_deinit(&mail);
    return rc;
}

/* Sets *needs if the beginning of the input is UTF-16, or has lines that end with CR alone. Drops a
 * byte order mark of UTF-8. */
static int needs_conversion(struct nb_input *input, bool *needs, struct nb_error *error)
{
    struct nb_buffer out = {0};
    struct nb_string begin, lines = {0};
    int rc = 1;
    while (rc > 0 && nb_input_unused(input).length < LOOKED_AT)
        rc = nb_input_fill(input, NB_ITEM_MOST, error);
    if (rc < 0)
        return rc;
    begin = nb_input_unused(input);
    begin.length = begin.length < LOOKED_AT ? begin.length : LOOKED_AT;
    rc = nb_mail_file_lines(begin, &out, &lines);
    *needs = out.length > 0;
    if (rc == 0 && !*needs)
        input->at += begin.length - lines.length;
    nb_buffer_deinit(&out);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* Passes on mail after mail: an mbox of any size needs the memory of one mail. */
int nb_read_mbox(struct nb_file_reading *reading, struct nb_error *error)
{
    struct nb_buffer mail = {0};
    struct nb_input *input = &reading->input;
    uint64_t number = 0;
    size_t searched = 0;
    bool needs = false;
    int rc = needs_conversion(input, &needs, error);
    if (needs)
        return read_converted(reading, error);
    while (rc == 0) {
        const char *begin = nb_input_unused(input).bytes;
        size_t left = nb_input_unused(input).length;
        const char *next = left > searched ? next_mail(begin + searched, begin + left) : NULL;
        if (next != NULL) {
            rc = give_next(reading, (size_t)(next - begin), &mail, &number, error);
            searched = 0;
            continue;
        }
        searched = left > 8 ? left - 8 : 0; /* "\r\n\nFrom " may lie across the end */
        int more = nb_input_fill(input, NB_ITEM_MOST, error);
        if (more > 0)
            continue;
        if (more == 0 && !input->has_ended)
            more = nb_error_set(error, NB_TOO_LARGE, "mail %ju is larger than %d bytes",
                                (uintmax_t)number + 1, NB_ITEM_MOST);
        rc = more < 0 ? more : give_next(reading, left, &mail, &number, error);
        break;
    }
    nb_buffer_deinit(&mail);
    return rc;
}
