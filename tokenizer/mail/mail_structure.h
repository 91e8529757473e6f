/* SPDX-License-Identifier: Apache-2.0
 *
 * How a mail is made, apart from its words: MIME parts, attachments, HTML elements and links. Any
 * thread; one tokenizing at a time.
 *
 * All features are of NB_FIELD_STRUCTURE, those of links of NB_FIELD_URL; what the settings leave
 * out costs nothing.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_STRUCTURE_H
#define NB_TOKENIZER_MAIL_MAIL_STRUCTURE_H

#include "tokenizer/bag/tokenizing.h"
#include "tokenizer/html/html.h"
#include "tokenizer/mail/mail_decode.h"

/* "mime:text/html", "mime:charset=utf-8", "mime:encoding=base64", the shape of the boundary, and of
 * an attachment "mime:file=.exe" and the words of its name ("file:invoice"). Returns 0 or
 * NB_NO_MEMORY. */
int nb_mail_structure_part(struct nb_tokenizing *t, const struct nb_mail_type *type);

/* "html:font", "html:font.color", "html:font.color=red"; of links the scheme ("html:a.href=http:")
 * and the parts of the URL. */
int nb_mail_structure_element(struct nb_tokenizing *t, const struct nb_html_token *start_tag);

/* "html:hidden": there was text that a reader cannot see. */
int nb_mail_structure_hidden(struct nb_tokenizing *t);

/* "mime:parts=3" and "mime:size=12", the logarithm of the bytes to base 2, of a whole mail. */
int nb_mail_structure_whole(struct nb_tokenizing *t, size_t parts, size_t bytes);

#endif
