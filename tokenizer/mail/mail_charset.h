/* SPDX-License-Identifier: Apache-2.0
 *
 * In which charset a text of a mail is, and its conversion to UTF-8. Any thread; the state belongs
 * to one.
 *
 * Of a body: a byte order mark, then what the MIME field says, then what the HTML says (HTML
 * standard, 13.2.3.2, "Determining the character encoding"). Where nothing of that says anything,
 * or the charset is not known: bytes that are valid UTF-8 are UTF-8, escapes of ISO 2022 are that;
 * else the text is in the charset that another part or an encoded word of the same message names;
 * else it is windows-1252. Header fields with raw bytes (RFC 6532, and what was there before it)
 * are read by the same rules, as texts for which nothing is said.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_CHARSET_H
#define NB_TOKENIZER_MAIL_MAIL_CHARSET_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "tokenizer/charset/charset.h"

enum {
    NB_MAIL_CHARSET_SEARCH = 65536, /* bytes of a message that are searched for a charset */
    NB_MAIL_CHARSET_HTML = 4096     /* of HTML; its standard asks for 1,024 */
};

struct nb_mail_charsets {
    struct nb_charset_state state; /* the last one that was read */
    struct nb_string message;      /* borrowed: from its header to the end of the mail */
    bool is_searched;              /* `other` is set */
    char other[NB_CHARSET_NAME];   /* that a part or a field of the message names; "": none */
};

/* Begins with a message; the charset of another one is of no meaning in it. */
void nb_mail_charsets_message(struct nb_mail_charsets *charsets, struct nb_string message);
void nb_mail_charsets_deinit(struct nb_mail_charsets *charsets);

/* Reads "=?label?B?" or "=?label?Q?" (RFC 2047) at `at`, which is before `end`: sets the label,
 * without its language (RFC 2231, section 5), and returns what is behind it, two bytes behind the
 * letter. NULL: it is not there. */
const char *nb_mail_word_label(const char *at, const char *end, struct nb_string *label);

/* Makes *text UTF-8 as far as it is read as anything else than the tokenizer reads it by itself
 * (UTF-8, and each byte that is not as windows-1252): then it lies behind what is in `out` already,
 * which stays. `label` is what the MIME field says, "" for nothing. Returns 0 or NB_NO_MEMORY. */
int nb_mail_body_to_utf8(struct nb_mail_charsets *charsets, struct nb_string label, bool is_html,
                         struct nb_string *text, struct nb_buffer *out);

/* The same of the value of a header field, or of the words in it that are in `label`. */
int nb_mail_field_to_utf8(struct nb_mail_charsets *charsets, struct nb_string label,
                          struct nb_string *text, struct nb_buffer *out);

#endif
