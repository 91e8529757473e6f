/* SPDX-License-Identifier: Apache-2.0
 *
 * The value of a header field as UTF-8: unfolded, its encoded words (RFC 2047) decoded. Any thread;
 * a charset state belongs to one.
 *
 * GMime is not used: where words are invalid it converts them by iconv byte for byte, and it opens
 * the charset of each word anew, without a bound on either.
 */
#ifndef NB_TOKENIZER_MAIL_ENCODED_WORDS_H
#define NB_TOKENIZER_MAIL_ENCODED_WORDS_H

#include "core/base/buffer.h"
#include "tokenizer/mail/mail_charset.h"

enum { NB_MAIL_FIELD = 65536 /* bytes of one header field that are read */ };

/* Appends the value. Words of one charset with only white space between them are one text: a
 * character may begin in one word and end in the next. Words may hold blanks and may touch other
 * text. Text that is not encoded, and words whose charset is missing or unknown, are read as
 * mail_charset.h describes. Reads at most NB_MAIL_FIELD bytes. Returns 0 or NB_NO_MEMORY. */
int nb_mail_decode_words(struct nb_mail_charsets *charsets, struct nb_string value,
                         struct nb_buffer *out);

#endif
