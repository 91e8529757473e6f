/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail_attached.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/string.h"
#include "tokenizer/mail_content.h"
#include "tokenizer/mail_decode.h"
#include "tokenizer/mime.h"

const char NB_MAIL_NOTHING_ATTACHED[] = "has no attached mail: forward mails as attachments "
                                        "(message/rfc822, or a file .eml), not inline";

struct search {
    struct nb_mail_attached *attached;
    struct nb_error *error;
};

static int search_bytes(struct search *search, struct nb_string bytes,
                        const struct nb_mail_type *multipart, size_t encoded);

/* Returns a mail without the line break before the boundary and without the separator of an
 * mbox. */
static struct nb_string trim(struct nb_string mail, bool is_before_boundary)
{
    if (is_before_boundary && mail.length > 0 && mail.bytes[mail.length - 1] == '\n') {
        mail.length--;
        mail.length -= mail.length > 0 && mail.bytes[mail.length - 1] == '\r';
    }
    return nb_string_from(mail, nb_lines_separator(mail));
}

static int give(struct search *search, struct nb_string mail)
{
    struct nb_mime_scanner scanner;
    nb_mime_scan(&scanner, mail.bytes, mail.length);
    if (mail.length == 0 || nb_mime_head(&scanner).length == 0)
        return 0;
    struct nb_mail_attached *attached = search->attached;
    if (attached->count == NB_MAIL_ATTACHED_MOST)
        return nb_error_set(search->error, NB_TOO_LARGE, "has more than %d attached mails",
                            NB_MAIL_ATTACHED_MOST);
    if (nb_array_reserve(&attached->ends, &attached->room, attached->count + 1,
                         sizeof *attached->ends) != 0 ||
        nb_buffer_append(&attached->bytes, mail.bytes, mail.length) != 0)
        return nb_error_no_memory(search->error);
    attached->ends[attached->count++] = attached->bytes.length;
    return 0;
}

/* Takes a part that is encoded as a whole: a mail, or a multipart that may contain mails. */
static int take_encoded(struct search *search, const struct nb_mail_type *type,
                        struct nb_string body, size_t encoded)
{
    struct nb_buffer bytes = {0};
    int rc = nb_mail_decode_body(type->encoding, body, &bytes);
    if (rc != 0)
        rc = nb_error_no_memory(search->error);
    else if (nb_mail_content_is_message(type))
        rc = give(search, trim(nb_buffer_string(&bytes), false));
    else if (encoded < NB_MAIL_ATTACHED_DEPTH)
        rc = search_bytes(search, nb_buffer_string(&bytes), type, encoded + 1);
    nb_buffer_deinit(&bytes);
    return rc;
}

static bool is_multipart(const struct nb_mail_type *type)
{
    return strncmp(type->media, "multipart/", strlen("multipart/")) == 0;
}

static void read_head(struct nb_string head, struct nb_mail_type *type)
{
    struct nb_string name, value;
    while (nb_mime_field(&head, &name, &value))
        nb_mail_content_field(type, name, value);
}

static bool open_level(struct nb_mime_scanner *scanner, const struct nb_mail_type *type)
{
    if (!is_multipart(type) ||
        !nb_mime_open(scanner, nb_string_of(type->boundary), scanner->open + 1))
        return false;
    nb_mime_innermost(scanner)->digest = strcmp(type->media, "multipart/digest") == 0;
    return true;
}

/* Takes the part that begins here, with its body; the body of an open multipart is the text before
 * its first part. */
static int take_part(struct search *search, struct nb_mime_scanner *scanner, size_t encoded,
                     enum nb_mime_next *next)
{
    struct nb_mail_type type = {.encoding = NB_MAIL_IDENTITY};
    struct nb_string body;
    const struct nb_mime_level *level = nb_mime_innermost(scanner);
    bool is_of_digest = level != NULL && level->digest;
    size_t around = scanner->open;
    read_head(nb_mime_head(scanner), &type);
    if (is_of_digest && type.media[0] == '\0')
        memcpy(type.media, "message/rfc822", sizeof "message/rfc822");
    bool is_open = open_level(scanner, &type);
    *next = nb_mime_body(scanner, &body);
    if (is_open && *next == NB_MIME_PART && scanner->open == around + 1)
        return 0;
    if (type.encoding != NB_MAIL_IDENTITY && (is_open || nb_mail_content_is_message(&type)))
        return take_encoded(search, &type, body, encoded);
    return nb_mail_content_is_message(&type) ? give(search, trim(body, *next != NB_MIME_END)) : 0;
}

/* Searches a mail, or the decoded body of a multipart. */
static int search_bytes(struct search *search, struct nb_string bytes,
                        const struct nb_mail_type *multipart, size_t encoded)
{
    struct nb_mime_scanner scanner;
    enum nb_mime_next next = NB_MIME_PART;
    struct nb_string between;
    int rc = 0;
    nb_mime_scan(&scanner, bytes.bytes, bytes.length);
    if (multipart != NULL)
        next = open_level(&scanner, multipart) ? nb_mime_body(&scanner, &between) : NB_MIME_END;
    while (rc == 0 && next != NB_MIME_END) {
        if (next == NB_MIME_PART)
            rc = take_part(search, &scanner, encoded, &next);
        else
            next = nb_mime_body(&scanner, &between);
    }
    return rc;
}

int nb_mail_attached_find(struct nb_mail_attached *attached, struct nb_string mail,
                          struct nb_error *error)
{
    struct search search = {.attached = attached, .error = error};
    attached->count = 0;
    attached->bytes.length = 0;
    return search_bytes(&search, mail, NULL, 0);
}

struct nb_string nb_mail_attached_get(const struct nb_mail_attached *attached, size_t index)
{
    assert(index < attached->count);
    size_t begin = index > 0 ? attached->ends[index - 1] : 0;
    return (struct nb_string){attached->bytes.bytes + begin, attached->ends[index] - begin};
}

void nb_mail_attached_deinit(struct nb_mail_attached *attached)
{
    nb_buffer_deinit(&attached->bytes);
    free(attached->ends);
    *attached = (struct nb_mail_attached){.count = 0};
}
