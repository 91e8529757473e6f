/* SPDX-License-Identifier: Apache-2.0
 *
 * A raw mail to tokens. Any thread, any number at once.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_H
#define NB_TOKENIZER_MAIL_MAIL_H

#include "tokenizer/bag/tokenizing.h"

/* Counts the features of a raw mail: Subject (decoded, RFC 2047) and text parts (transfer encoding
 * and charset decoded, HTML brought to its visible text), every alternative, nested messages to
 * the limits' depth; of the fields that the settings want, headers, structure, links and hidden
 * text too. Of a mail over limits->mail_bytes the first three quarters of them are read and the
 * last quarter from its end. Whatever the bytes, no error but NB_NO_MEMORY; what is over a limit is
 * left out and sets bag->truncated. */
int nb_tokenize_mail(struct nb_tokenizing *t, const char *bytes, size_t length);

#endif
