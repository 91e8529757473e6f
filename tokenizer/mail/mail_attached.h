/* SPDX-License-Identifier: Apache-2.0
 *
 * The mails that are attached to a mail: what a user forwards to teach a filter. Any thread. The
 * forward itself is of the user, and its words would be learned as those of a spammer.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_ATTACHED_H
#define NB_TOKENIZER_MAIL_MAIL_ATTACHED_H

#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

enum {
    NB_MAIL_ATTACHED_MOST = 1000, /* mails attached to one */
    NB_MAIL_ATTACHED_DEPTH = 4    /* multiparts inside one another that are encoded as a whole */
};

/* The attached mails of one mail: copies of their bytes, one behind the other. */
struct nb_mail_attached {
    size_t count;

    /* private */
    struct nb_buffer bytes;
    size_t *ends; /* of each, in `bytes` */
    size_t room;
};

/* Finds the mails that are attached to `mail`, in their order: parts of message/rfc822 (also global
 * and news), parts of multipart/digest without a type (RFC 2046, 5.1.5), and files named .eml whose
 * type is vague. Their transfer encoding is undone; the line break before a boundary is none of
 * theirs (5.1.1). What is attached to an attached mail belongs to it, and what has no header is no
 * mail. `attached` begins as zeros or with what it held before. In linear time. Returns 0,
 * NB_TOO_LARGE when there are more than NB_MAIL_ATTACHED_MOST, or NB_NO_MEMORY. */
int nb_mail_attached_find(struct nb_mail_attached *attached, struct nb_string mail,
                          struct nb_error *error);

/* The mail `index`, below count; borrowed until the next search. */
struct nb_string nb_mail_attached_get(const struct nb_mail_attached *attached, size_t index);

void nb_mail_attached_deinit(struct nb_mail_attached *attached);

/* Why nothing is learned of a mail without an attached one, for people. */
extern const char NB_MAIL_NOTHING_ATTACHED[];

#endif
