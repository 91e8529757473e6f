/* SPDX-License-Identifier: Apache-2.0
 *
 * The value of a header field as UTF-8: unfolded, its encoded words (RFC 2047) decoded. Any thread;
 * a charset state belongs to one.
 *
 * Not by GMime: it converts the words by iconv byte for byte where they are invalid, and opens the
 * charset of each word anew, without a bound on either.
 */
#ifndef NB_TOKENIZER_MAIL_ENCODED_WORDS_H
#define NB_TOKENIZER_MAIL_ENCODED_WORDS_H

#include "core/base/buffer.h"
#include "tokenizer/text/charset.h"

enum { NB_MAIL_FIELD = 65536 /* bytes of one header field that are read */ };

/* Appends the value. Words of one charset with nothing but white space between them are one text: a
 * character may begin in one and end in the next. Words may hold blanks and stand beside other text
 * without one. What is not encoded keeps its charset, whatever that is, and so do words of a
 * charset that is not known. Reads at most NB_MAIL_FIELD bytes. Returns 0 or NB_NO_MEMORY. */
int nb_mail_decode_words(struct nb_charset_state *charset, struct nb_string value,
                         struct nb_buffer *out);

#endif
