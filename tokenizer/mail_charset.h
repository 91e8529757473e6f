/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the charset of a text in a mail and converts the text to UTF-8. Any thread; the state
 * belongs to one.
 *
 * For a body, a byte order mark decides first, then the MIME field, then the HTML itself (HTML
 * standard, 13.2.3.2, "Determining the character encoding"). If none of them names a known charset,
 * bytes that are valid UTF-8 are UTF-8, and escapes of ISO 2022 choose their charset; else the text
 * is in the charset that another part or an encoded word of the same message names; else it is
 * windows-1252. Header fields with raw bytes (RFC 6532, and the practice before it) follow the same
 * rules, as texts without a named charset.
 */
#ifndef NB_TOKENIZER_MAIL_CHARSET_H
#define NB_TOKENIZER_MAIL_CHARSET_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "tokenizer/charset.h"

enum {
    NB_MAIL_CHARSET_SEARCH = 65536, /* bytes of a message that are searched for a charset */
    NB_MAIL_CHARSET_HTML = 4096     /* bytes of HTML that are searched; its standard says 1,024 */
};

struct nb_mail_charsets {
    struct nb_charset_state state; /* the last charset that was used */
    struct nb_string message;      /* borrowed: from the message's header to the end of the mail */
    bool is_searched;              /* `other` was searched for and is set */
    char other[NB_CHARSET_NAME];   /* charset that a part or field of the message names; "": none */
};

/* Begins a message and forgets the charset that the previous message named. */
void nb_mail_charsets_message(struct nb_mail_charsets *charsets, struct nb_string message);
void nb_mail_charsets_deinit(struct nb_mail_charsets *charsets);

/* Converts *text to UTF-8, unless the tokenizer reads it correctly by itself (UTF-8, with invalid
 * bytes as windows-1252). Converted text is appended to `out`, whose content stays, and *text
 * points there. `label` is the charset in the MIME field, "" for none. Returns 0 or
 * NB_NO_MEMORY. */
int nb_mail_body_to_utf8(struct nb_mail_charsets *charsets, struct nb_string label, bool is_html,
                         struct nb_string *text, struct nb_buffer *out);

/* Like nb_mail_body_to_utf8, for the value of a header field, or for its words that are in
 * `label`. */
int nb_mail_field_to_utf8(struct nb_mail_charsets *charsets, struct nb_string label,
                          struct nb_string *text, struct nb_buffer *out);

/* Converts the value of a header field to UTF-8: unfolds it and decodes its encoded words (RFC
 * 2047). Any thread; a charset state belongs to one.
 *
 * GMime is not used: it converts invalid words by iconv byte for byte, and opens the charset of
 * each word anew, without a bound on either. */
enum { NB_MAIL_FIELD = 65536 /* bytes of one header field that are read */ };

/* Appends the converted value. Encoded words of one charset with only white space between them are
 * one text: a character may begin in one word and end in the next. Words may contain blanks and may
 * touch other text. Text that is not encoded, and words whose charset is missing or unknown, are
 * read as described at the top of this file. Reads at most NB_MAIL_FIELD bytes. Returns 0 or
 * NB_NO_MEMORY. */
int nb_mail_decode_words(struct nb_mail_charsets *charsets, struct nb_string value,
                         struct nb_buffer *out);

#endif
