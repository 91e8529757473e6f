/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the mails that are attached to a mail, which is how users forward mail to train a filter.
 * Only the attached mails are learned: the words of the forward are the user's own, and would be
 * learned as those of a spammer. Any thread.
 */
#ifndef NB_TOKENIZER_MAIL_ATTACHED_H
#define NB_TOKENIZER_MAIL_ATTACHED_H

#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

enum {
    NB_MAIL_ATTACHED_MOST = 1000, /* most mails attached to one mail */
    NB_MAIL_ATTACHED_DEPTH = 4    /* most nested multiparts that are encoded as a whole */
};

/* The attached mails of one mail: copies of their bytes, stored one after the other. */
struct nb_mail_attached {
    size_t count;

    /* private */
    struct nb_buffer bytes;
    size_t *ends; /* end of each mail in `bytes` */
    size_t room;
};

/* Finds the mails that are attached to `mail`, in their order: parts of message/rfc822 (also global
 * and news), parts of multipart/digest without a type (RFC 2046, 5.1.5), and files named .eml whose
 * type is vague. Their transfer encoding is undone; the line break before a boundary does not
 * belong to them (5.1.1). A mail attached to an attached mail stays a part of it, and a part
 * without a header is no mail. `attached` begins as zeros or holds the result of an earlier search.
 * In linear time. Returns 0, NB_TOO_LARGE when there are more than NB_MAIL_ATTACHED_MOST, or
 * NB_NO_MEMORY. */
int nb_mail_attached_find(struct nb_mail_attached *attached, struct nb_string mail,
                          struct nb_error *error);

/* Returns the mail `index`, below count; borrowed until the next search. */
struct nb_string nb_mail_attached_get(const struct nb_mail_attached *attached, size_t index);

void nb_mail_attached_deinit(struct nb_mail_attached *attached);

/* A message for users: why nothing is learned from a mail without attached mails. */
extern const char NB_MAIL_NOTHING_ATTACHED[];

#endif
