/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits a raw mail into tokens. Any thread, any number at once.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_H
#define NB_TOKENIZER_MAIL_MAIL_H

#include "tokenizer/bag/tokenizing.h"

/* Counts the features of a raw mail: of the Subject (decoded, RFC 2047) and of all text parts (also
 * alternatives and parts of nested messages) with transfer encoding and charset decoded, of HTML
 * the visible text; and, if the settings want these fields, of headers, structure, links and hidden
 * text. A mail of more than limits->mail_bytes is read in part: three quarters of the
 * limit from its beginning, one quarter from its end. What exceeds a limit is left out and sets
 * bag->truncated. Returns 0 or NB_NO_MEMORY; no input is an error. */
int nb_tokenize_mail(struct nb_tokenizing *t, const char *bytes, size_t length);

#endif
