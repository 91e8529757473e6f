/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the features of header fields except the Subject: of addresses, Received, and all other
 * fields. Any thread; a tokenizing belongs to one.
 *
 * How each field is counted was chosen by comparing kinds of features on several public corpora of
 * mail. Fields that never count come first.
 */
#ifndef NB_TOKENIZER_MAIL_HEADER_H
#define NB_TOKENIZER_MAIL_HEADER_H

#include <stdbool.h>

#include "core/base/string.h"
#include "tokenizer/bag_private.h"
#include "tokenizer/mail_charset.h"

/* ---- fields that never count ----------------------------------------------------------------- */

/* The header fields of a mail that never count: verdicts of filters and scanners, bayesd's own
 * included, and notes that mailboxes add for themselves. The verdict of another filter would give
 * the answer away while learning, and an attacker can forge it. Pure functions; any thread. */

/* Whether the field with this name never counts. The name may be in any case and of any length. */
bool nb_mail_header_ignored(struct nb_string name);

/* Counts the features of a Received field in NB_FIELD_RECEIVED: hosts and their last labels,
 * networks of addresses, and words, up to the ';' before the date. Queue ids and similar words are
 * left out, because they occur only once. Returns 0 or NB_NO_MEMORY. */
int nb_mail_received(struct nb_tokenizing *t, struct nb_string value);

/* Counts the features of one field in NB_FIELD_ADDRESS, NB_FIELD_RECEIVED or NB_FIELD_HEADER.
 * `value` is raw, as in the mail. `scratch` is overwritten. Returns 0 or NB_NO_MEMORY. */
int nb_mail_header(struct nb_tokenizing *t, struct nb_string name, struct nb_string value,
                   struct nb_mail_charsets *charsets, struct nb_buffer *scratch);

#endif
