/* SPDX-License-Identifier: Apache-2.0
 *
 * What a part of a mail is read as. Its type is not believed where a reader's program would not
 * believe it: a page or a drawing sent as application/octet-stream is opened by the name of its
 * file, and so is one that bears the type of something else. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_CONTENT_H
#define NB_TOKENIZER_MAIL_MAIL_CONTENT_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "tokenizer/mail/mail_decode.h"

enum nb_mail_content {
    NB_CONTENT_NONE, /* nothing to read */
    NB_CONTENT_PLAIN,
    NB_CONTENT_HTML,
    NB_CONTENT_SVG,
    NB_CONTENT_CALENDAR, /* and vCard, of the same lines */
    NB_CONTENT_ENRICHED,
    NB_CONTENT_RTF,
    NB_CONTENT_MESSAGE /* a mail, which has parts of its own */
};

enum {
    NB_MAIL_DISGUISED_BYTES = 1 << 20, /* that are read of a part whose type says less */
    NB_MAIL_SNIFFED_BYTES = 512        /* of a body without its encoding that tell what it is */
};

/* Reads a field of the header of a part into `type`, if it is about the content. Of two equal
 * fields the first counts, as in most mail programs. */
void nb_mail_content_field(struct nb_mail_type *type, struct nb_string name,
                           struct nb_string value);

/* Content as the type says; of text, as it begins. `text` is of the body, decoded; it may be empty.
 */
enum nb_mail_content nb_mail_content_of_type(const struct nb_mail_type *type,
                                             struct nb_string text);

/* Whether the type says nothing of the content, so that its beginning is to be looked at:
 * application/octet-stream and the like. */
bool nb_mail_content_is_vague(const struct nb_mail_type *type);

/* Content as the file's name says; NB_CONTENT_NONE: it says nothing. */
enum nb_mail_content nb_mail_content_of_name(const struct nb_mail_type *type);

/* Content as a body begins, decoded: HTML, SVG or RTF; NB_CONTENT_NONE: something else. */
enum nb_mail_content nb_mail_content_sniff(struct nb_string text);

/* Whether a part is a whole mail, by its type, or by its name where the type is vague. */
bool nb_mail_content_is_message(const struct nb_mail_type *type);

/* The word for a content in features: "html". */
const char *nb_mail_content_word(enum nb_mail_content content);

#endif
