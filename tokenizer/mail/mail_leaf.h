/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of one part of a mail that holds no other parts, and of its Subject: decoded, brought to
 * UTF-8, HTML taken apart, and counted. Any thread; a reader belongs to one.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_LEAF_H
#define NB_TOKENIZER_MAIL_MAIL_LEAF_H

#include "core/base/buffer.h"
#include "tokenizer/bag/tokenizing.h"
#include "tokenizer/mail/mail_decode.h"

struct nb_mail_reader {
    struct nb_tokenizing *t;  /* borrowed */
    struct nb_buffer decoded; /* owned: the body at hand without its transfer encoding */
    struct nb_buffer utf8;    /* owned: and in UTF-8; or the value of a header field */
};

void nb_mail_reader_deinit(struct nb_mail_reader *reader);

/* Counts the features of a part with this header and body. A part that is not text has none.
 * Returns 0 or NB_NO_MEMORY. */
int nb_mail_leaf(struct nb_mail_reader *reader, const struct nb_mail_type *type,
                 struct nb_string body);

/* Counts the features of a Subject, whose value is as it stands in the mail. Returns 0 or
 * NB_NO_MEMORY. */
int nb_mail_subject(struct nb_mail_reader *reader, struct nb_string value);

#endif
