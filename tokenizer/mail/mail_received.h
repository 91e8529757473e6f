/* SPDX-License-Identifier: Apache-2.0
 *
 * The features of a Received field. Any thread; a tokenizing belongs to one.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_RECEIVED_H
#define NB_TOKENIZER_MAIL_MAIL_RECEIVED_H

#include "tokenizer/bag/tokenizing.h"

/* Counts in NB_FIELD_RECEIVED: hosts and their last labels, networks of addresses, and words, up to
 * the ';' before the date. Queue ids and similar words are left out, because they occur only once.
 * Returns 0 or NB_NO_MEMORY. */
int nb_mail_received(struct nb_tokenizing *t, struct nb_string value);

#endif
