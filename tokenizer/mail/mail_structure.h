/* SPDX-License-Identifier: Apache-2.0
 *
 * The features of the structure of a mail: MIME parts, attachments, HTML elements and links. Any
 * thread; a tokenizing belongs to one.
 *
 * Features of links are in NB_FIELD_URL, all others in NB_FIELD_STRUCTURE. The functions return 0
 * or NB_NO_MEMORY; a field that the settings leave out is not counted.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_STRUCTURE_H
#define NB_TOKENIZER_MAIL_MAIL_STRUCTURE_H

#include "tokenizer/bag/tokenizing.h"
#include "tokenizer/html/html.h"
#include "tokenizer/mail/mail_decode.h"

/* Counts "mime:text/html", "mime:charset=utf-8", "mime:encoding=base64", the shape of the boundary,
 * and for an attachment "mime:file=.exe" and the words of its name ("file:invoice"). */
int nb_mail_structure_part(struct nb_tokenizing *t, const struct nb_mail_type *type);

/* Counts "html:font", "html:font.color", "html:font.color=red", and for a link its scheme,
 * "html:a.href=http:", and the parts of its URL. */
int nb_mail_structure_element(struct nb_tokenizing *t, const struct nb_html_token *start_tag);

/* Counts "html:hidden": the mail has text that a reader cannot see. */
int nb_mail_structure_hidden(struct nb_tokenizing *t);

/* Counts "mime:read-as=html": the content of a part is read as another kind than its type says. */
int nb_mail_structure_read_as(struct nb_tokenizing *t, const char *content);

/* Counts "mime:parts=3", and "mime:size=12" for the base 2 logarithm of the size of a whole mail:
 * its bytes without CRs before LF. */
int nb_mail_structure_whole(struct nb_tokenizing *t, size_t parts, size_t bytes);

#endif
