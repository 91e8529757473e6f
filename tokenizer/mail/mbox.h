/* SPDX-License-Identifier: Apache-2.0
 *
 * Raw mails out of an mbox (RFC 4155; mboxrd and mboxo quoting are undone). Any thread; one reader
 * belongs to one thread.
 */
#ifndef NB_TOKENIZER_MAIL_MBOX_H
#define NB_TOKENIZER_MAIL_MBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

struct nb_mbox {
    const char *at; /* borrowed: what is still to read */
    const char *end;
};

/* A reader over the bytes of a whole mbox. */
struct nb_mbox nb_mbox_of(const char *bytes, size_t length);

/* Puts the next mail, without its "From " line, the blank line before the next one, and one '>' of
 * each ">From " (">>From " ...) line, into `mail` (emptied first). Returns 1, 0 at the end,
 * NB_INVALID if the mbox does not begin with a "From " line, or NB_NO_MEMORY. */
int nb_mbox_next(struct nb_mbox *mbox, struct nb_buffer *mail);

#endif
