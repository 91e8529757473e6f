/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads content types in their plain form, which most mails have, without GMime: its objects take
 * longer than all other fields of a header together. Any thread.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_TYPE_H
#define NB_TOKENIZER_MAIL_MAIL_TYPE_H

#include "tokenizer/mail/mail_decode.h"

/* Reads `text/plain; charset="us-ascii"` and the like into *type, as nb_mail_read_type does.
 * Returns false, without a change, for any value that is not plain: with comments, encoded or
 * repeated parameters, values with backslashes or beyond ASCII, or syntax errors. */
bool nb_mail_plain_type(struct nb_mail_type *type, struct nb_string value);

#endif
