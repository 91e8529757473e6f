/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/client/files/formats.h"
#include "tokenizer/mail/mbox.h"

/* The beginning of the next mail behind `from`: "From " after an empty line. NULL when it is not
 * there yet. */
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

/* Gives on the mails in the next `length` bytes of the input, and uses these up. */
static int give_mails(struct nb_reading *reading, size_t length, struct nb_buffer *mail,
                      uint64_t *number, struct nb_error *error)
{
    struct nb_mbox mbox = nb_mbox_of(nb_input_unused(&reading->input).bytes, length);
    int rc;
    while ((rc = nb_mbox_next(&mbox, mail)) == 1) {
        struct nb_item item = {.is_mail = true, .content = {mail->bytes, mail->length}};
        ++*number;
        if (mail->length == 0)
            continue;
        rc = nb_reading_give(reading, &item, *number, error);
        if (rc != 0)
            return rc;
    }
    reading->input.at += length;
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0
               ? 0
               : nb_error_set(error, NB_INVALID, "is not an mbox: it does not begin with 'From '");
}

/* Gives on mail after mail: an mbox of any size needs the memory of one mail. */
int nb_read_mbox(struct nb_reading *reading, struct nb_error *error)
{
    struct nb_buffer mail = {0};
    struct nb_input *input = &reading->input;
    uint64_t number = 0;
    size_t searched = 0;
    int rc = 0;
    while (rc == 0) {
        const char *begin = nb_input_unused(input).bytes;
        size_t left = nb_input_unused(input).length;
        const char *next = left > searched ? next_mail(begin + searched, begin + left) : NULL;
        if (next != NULL) {
            rc = give_mails(reading, (size_t)(next - begin), &mail, &number, error);
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
        rc = more < 0 ? more : give_mails(reading, left, &mail, &number, error);
        break;
    }
    nb_buffer_deinit(&mail);
    return rc;
}
