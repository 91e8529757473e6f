/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits a raw mail into tokens. Any thread, any number at once.
 */
#ifndef NB_TOKENIZER_MAIL_H
#define NB_TOKENIZER_MAIL_H

#include "core/base/buffer.h"
#include "tokenizer/bag_private.h"
#include "tokenizer/html.h"
#include "tokenizer/mail_charset.h"
#include "tokenizer/mail_decode.h"

/* ---- parts ----------------------------------------------------------------------------------- */

/* Reads the text of a mail part that holds no other parts, and of the Subject: decodes it, converts
 * it to UTF-8, splits HTML into visible and hidden text, extracts the words from other formats
 * (tokenizer/text_formats.h), and counts them. Any thread; a reader belongs to one. */

/* The features of the structure of a mail: MIME parts, attachments, HTML elements and links. Any
 * thread; a tokenizing belongs to one. Features of links are in NB_FIELD_URL, all others in
 * NB_FIELD_STRUCTURE. The functions return 0 or NB_NO_MEMORY; a field that the settings leave out
 * is not counted. */

/* Counts "mime:text/html", "mime:charset=utf-8", "mime:encoding=base64", the shape of the boundary,
 * and for an attachment "mime:file=.exe" and the words of its name ("file:invoice"). */
int nb_mail_structure_part(struct nb_tokenizing *t, const struct nb_mail_type *type);

/* Counts "mime:read-as=html": the content of a part is read as another kind than its type says. */
int nb_mail_structure_read_as(struct nb_tokenizing *t, const char *content);

/* Counts "mime:parts=3", and "mime:size=12" for the base 2 logarithm of the size of a whole mail:
 * its bytes without CRs before LF. */
int nb_mail_structure_whole(struct nb_tokenizing *t, size_t parts, size_t bytes);

struct nb_mail_reader {
    struct nb_tokenizing *t;  /* borrowed */
    struct nb_buffer decoded; /* owned: the current body without its transfer encoding */
    struct nb_buffer utf8;    /* owned: the current body in UTF-8, or the value of a header field */
    struct nb_buffer plain;   /* owned: the text of a format like RTF or iCalendar */
    struct nb_mail_charsets charsets;
};

void nb_mail_reader_deinit(struct nb_mail_reader *reader);

/* Counts the features of a part with this header and body. A part that is not text has none, unless
 * its name or its beginning shows that it is a page, a drawing or the like: then at most
 * NB_MAIL_DISGUISED_BYTES of it are read. Returns 0 or NB_NO_MEMORY. */
int nb_mail_leaf(struct nb_mail_reader *reader, const struct nb_mail_type *type,
                 struct nb_string body);

/* Counts the features of a page in UTF-8 outside a mail, as if it were an HTML part of one. Returns
 * 0 or NB_NO_MEMORY. */
int nb_mail_html(struct nb_tokenizing *t, struct nb_string html);

/* Counts the features of a Subject from its raw value in the mail. Returns 0 or NB_NO_MEMORY. */
int nb_mail_subject(struct nb_mail_reader *reader, struct nb_string value);

/* ---- a mail ---------------------------------------------------------------------------------- */

/* Counts the features of a raw mail: of the Subject (decoded, RFC 2047) and of all text parts (also
 * alternatives and parts of nested messages) with transfer encoding and charset decoded, of HTML
 * the visible text; and, if the settings want these fields, of headers, structure, links and hidden
 * text. A mail of more than limits->mail_bytes is read in part: three quarters of the
 * limit from its beginning, one quarter from its end. What exceeds a limit is left out and sets
 * bag->truncated. Returns 0 or NB_NO_MEMORY; no input is an error. */
int nb_tokenize_mail(struct nb_tokenizing *t, const char *bytes, size_t length);

#endif
