/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells mails from other texts, and texts from binary data. Pure functions; any thread.
 */
#ifndef NB_CLIENT_MAIL_LOOK_H
#define NB_CLIENT_MAIL_LOOK_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether the bytes begin like a mail: with header fields, of which two are well known,
 * such as From and Date. Other bytes that mail files begin with may come first
 * (tokenizer/mail/mail_file.h). */
bool nb_looks_like_mail(const char *bytes, size_t length);

/* Returns whether the bytes are not text in a character set that extends ASCII: more than one byte
 * in 16 is a control character that texts do not have. The worst of 11,000 texts (Enron) has one in
 * 34; compressed data has about one in ten, and nearly all of 4,000 pictures, archives and programs
 * of a Debian system have more than one in 16. */
bool nb_looks_binary(const char *bytes, size_t length);

#endif
