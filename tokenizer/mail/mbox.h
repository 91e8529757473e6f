/* SPDX-License-Identifier: Apache-2.0
 *
 * Extracts the raw mails from an mbox (RFC 4155) and undoes the quoting of mboxrd and mboxo. Any
 * thread; a reader belongs to one.
 */
#ifndef NB_TOKENIZER_MAIL_MBOX_H
#define NB_TOKENIZER_MAIL_MBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

struct nb_mbox {
    const char *at; /* borrowed: the rest to be read */
    const char *end;
};

/* Returns a reader of a whole mbox, whose bytes are borrowed. */
struct nb_mbox nb_mbox_of(const char *bytes, size_t length);

/* Replaces the content of `mail` by the next mail, without its "From " line, without the empty line
 * before the next mail, and without one '>' of each line ">From ", ">>From " and so on. Returns 1,
 * 0 at the end, NB_INVALID if the mbox does not begin with a "From " line, or NB_NO_MEMORY. */
int nb_mbox_next(struct nb_mbox *mbox, struct nb_buffer *mail);

#endif
