/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides as which kind of content a part of a mail is read. The declared type is ignored if a mail
 * program would ignore it: mail programs open a page or a drawing that was sent as
 * application/octet-stream, or with a wrong type, by the name of its file. Pure functions; any
 * thread.
 */
#ifndef NB_TOKENIZER_MAIL_CONTENT_H
#define NB_TOKENIZER_MAIL_CONTENT_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "tokenizer/mail_decode.h"

/* Reads content types in their plain form, which most mails have, without GMime: its objects take
 * longer than all other fields of a header together. Any thread. */

/* Reads `text/plain; charset="us-ascii"` and the like into *type, as nb_mail_read_type does.
 * Returns false, without a change, for any value that is not plain: with comments, encoded or
 * repeated parameters, values with backslashes or beyond ASCII, or syntax errors. */
bool nb_mail_plain_type(struct nb_mail_type *type, struct nb_string value);

enum nb_mail_content {
    NB_CONTENT_NONE, /* no text to read */
    NB_CONTENT_PLAIN,
    NB_CONTENT_HTML,
    NB_CONTENT_SVG,
    NB_CONTENT_CALENDAR, /* also vCard, whose lines have the same form */
    NB_CONTENT_ENRICHED,
    NB_CONTENT_RTF,
    NB_CONTENT_MESSAGE /* a mail, which has parts of its own */
};

enum {
    NB_MAIL_DISGUISED_BYTES = 1 << 20, /* bytes read of a part whose type understates its content */
    NB_MAIL_SNIFFED_BYTES = 512        /* decoded bytes by which the kind of a body is recognized */
};

/* Reads a header field of a part into `type`, if the field is about the content. If a field occurs
 * twice, the first one counts, as in most mail programs. */
void nb_mail_content_field(struct nb_mail_type *type, struct nb_string name,
                           struct nb_string value);

/* Returns the kind of content by the type, and for text by its beginning. `text` is the decoded
 * body; it may be empty. */
enum nb_mail_content nb_mail_content_of_type(const struct nb_mail_type *type,
                                             struct nb_string text);

/* Whether the type says nothing about the content, so that its beginning must be read:
 * application/octet-stream and the like. */
bool nb_mail_content_is_vague(const struct nb_mail_type *type);

/* Returns the kind of content by the file's name; NB_CONTENT_NONE if the name has no known ending.
 */
enum nb_mail_content nb_mail_content_of_name(const struct nb_mail_type *type);

/* Recognizes HTML, SVG or RTF by the beginning of a decoded body; NB_CONTENT_NONE for all else. */
enum nb_mail_content nb_mail_content_sniff(struct nb_string text);

/* Whether a part is a whole mail, by its type, or by its name where the type is vague. */
bool nb_mail_content_is_message(const struct nb_mail_type *type);

/* The name of a content in features: "html". */
const char *nb_mail_content_word(enum nb_mail_content content);

#endif
