/* SPDX-License-Identifier: Apache-2.0
 *
 * The features of a message's header fields, Subject excepted: addresses, Received, the others.
 * Any thread; one tokenizing at a time.
 *
 * Which header counts how comes from a comparison of feature families over several public corpora
 * of mail; see the tables in mail_header.c for what never counts.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_HEADER_H
#define NB_TOKENIZER_MAIL_MAIL_HEADER_H

#include "tokenizer/bag/tokenizing.h"

/* Counts the features of one field in NB_FIELD_ADDRESS, NB_FIELD_RECEIVED or NB_FIELD_HEADER.
 * `value` is as it stands in the mail; `scratch` is used and left with anything in it. Returns 0 or
 * NB_NO_MEMORY. */
int nb_mail_header(struct nb_tokenizing *t, struct nb_string name, struct nb_string value,
                   struct nb_buffer *scratch);

/* Whether a field never counts: verdicts of spam filters, this one's own among them, and what a
 * mailbox notes down for itself. */
bool nb_mail_header_ignored(struct nb_string name);

#endif
