/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads mails from files, which may have other lines before the header, depending on how the mail
 * was saved or copied. For mails that come as files (bayesc, the console, message/rfc822 and
 * application/mbox over HTTP). A mail from a mail server is taken as it is: if it begins with an
 * empty line, mail programs show everything after that line as the body. Pure functions; any
 * thread.
 */
#ifndef NB_TOKENIZER_MAIL_FILE_H
#define NB_TOKENIZER_MAIL_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

enum {
    NB_MAIL_FILE_LINES = 64,    /* lines in which the header is searched for */
    NB_MAIL_FILE_BYTES = 16384, /* bytes in which the header is searched for */
    NB_MAIL_FILE_HEAD = 65536   /* bytes of a header that are read to recognize it */
};

/* Whether bytes begin with the header of a mail: with fields, at least two of them well known, such
 * as From and Date. */
bool nb_mail_file_has_head(struct nb_string bytes);

/* Sets *lines to the file in UTF-8 or another charset that extends ASCII, with lines that end with
 * LF or CR LF. A byte order mark is dropped. UTF-16 and lines that end with CR alone (in the
 * header, or in all of the body) are converted into `out`, whose content is replaced. The result
 * borrows from `file` or `out`. Returns 0 or NB_NO_MEMORY. */
int nb_mail_file_lines(struct nb_string file, struct nb_buffer *out, struct nb_string *lines);

/* Sets *mail to the mail in a file, with lines as from nb_mail_file_lines, from the header on.
 * Before the header there may be empty lines and blanks, also before the first field; the separator
 * line of an mbox; commands and replies of SMTP, POP3 and IMAP; and one arbitrary line, such as
 * base64, if a header with many trace fields follows at once. If no header is found, or if the
 * first line is a field, the mail is the whole file. Returns 0 or NB_NO_MEMORY. */
int nb_mail_of_file(struct nb_string file, struct nb_buffer *out, struct nb_string *mail);

/* Extracts the raw mails from an mbox (RFC 4155) and undoes the quoting of mboxrd and mboxo. Any
 * thread; a reader belongs to one. */
struct nb_mbox {
    const char *at; /* borrowed: the rest to be read */
    const char *end;
};

/* Returns a reader of a whole mbox, whose bytes are borrowed. */
struct nb_mbox nb_mbox_of(const char *bytes, size_t length);

/* Replaces the content of `mail` by the next mail, without its "From " line, without the empty line
 * before the next mail, and without one '>' of each line ">From ", ">>From " and so on. Returns 1,
 * 0 at the end, NB_INVALID if the mbox does not begin with a "From " line, or NB_NO_MEMORY. */
int nb_mbox_next(struct nb_mbox *mbox, struct nb_buffer *mail);

#endif
