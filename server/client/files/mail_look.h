/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells mails from other texts, and texts from what is neither. Pure functions; any thread.
 */
#ifndef NB_CLIENT_MAIL_LOOK_H
#define NB_CLIENT_MAIL_LOOK_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the bytes begin as a mail does: with header fields, two of them well known ones such as
 * From and Date, perhaps behind what files have before them (tokenizer/mail/mail_file.h). */
bool nb_looks_like_mail(const char *bytes, size_t length);

/* Whether the bytes are no text in a character set that goes on from ASCII: more than one in
 * sixteen is a control character that texts do not have. Of 11,000 texts (Enron) the worst has one
 * in 34; what is compressed has about one in ten, and nearly all of 4,000 pictures, archives and
 * programs of a Debian have more than one in 16. */
bool nb_looks_binary(const char *bytes, size_t length);

#endif
