/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one file of documents: finds out its format and calls the reader for that format. One
 * thread.
 */
#ifndef NB_SERVER_CLIENT_FILES_READ_FILE_H
#define NB_SERVER_CLIENT_FILES_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "server/client/files/files.h"

/* Tells mails from other texts, and texts from binary data. Pure functions; any thread. */
/* Returns whether the bytes begin like a mail: with header fields, of which two are well known,
 * such as From and Date. Other bytes that mail files begin with may come first
 * (tokenizer/mail_file.h). */
bool nb_looks_like_mail(const char *bytes, size_t length);

/* Returns whether the bytes are not text in a character set that extends ASCII: more than one byte
 * in 16 is a control character that texts do not have. The worst of 11,000 texts (Enron) has one in
 * 34; compressed data has about one in ten, and nearly all of 4,000 pictures, archives and programs
 * of a Debian system have more than one in 16. */
bool nb_looks_binary(const char *bytes, size_t length);

/* Reads the file, or standard input for "-". `label`, borrowed, is for documents without a label of
 * their own. `format` is a name of --format; NULL: found from the name and the beginning of the
 * file. files->tell hears of a fault of the file. Returns 0 or a code that ends the whole run:
 * what `take` returned, NB_NO_MEMORY, NB_CLIENT_USAGE. `error` must not be NULL. */
int nb_read_file(const struct nb_files *files, const char *path, struct nb_string label,
                 const char *format, struct nb_error *error);

#endif
