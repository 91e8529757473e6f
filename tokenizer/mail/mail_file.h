/* SPDX-License-Identifier: Apache-2.0
 *
 * Mails that come from files, in which other things stand before the header: what was there when
 * somebody saved or copied the mail. For the doors of files (bayesc, the console, message/rfc822
 * and application/mbox over HTTP). What a mail server hands over is taken as it is: if its mail
 * begins with an empty line, readers show everything behind it as the body. Pure functions; any
 * thread.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_FILE_H
#define NB_TOKENIZER_MAIL_MAIL_FILE_H

#include <stdbool.h>

#include "core/base/buffer.h"

enum {
    NB_MAIL_FILE_LINES = 64,    /* lines in which the header is searched for */
    NB_MAIL_FILE_BYTES = 16384, /* and bytes */
    NB_MAIL_FILE_HEAD = 65536   /* bytes of a header that are looked at to know it */
};

/* Whether bytes begin with the header of a mail: with fields, two of them well known ones such as
 * From and Date. */
bool nb_mail_file_has_head(struct nb_string bytes);

/* Sets *lines to the file as UTF-8 or in a charset that extends ASCII, with lines that end with LF
 * or CR LF: without a byte order mark, and with UTF-16 and lines that end with CR alone (of the
 * header, or of all of the body) converted into `out`, whose content is replaced. The result
 * borrows from `file` or `out`. Returns 0 or NB_NO_MEMORY. */
int nb_mail_file_lines(struct nb_string file, struct nb_buffer *out, struct nb_string *lines);

/* Sets *mail to the mail of a file: lines as above, from the header on. Before that may stand, in
 * its first lines, empty lines and blanks, also in front of the first field; the line of an mbox;
 * commands and replies of SMTP, POP3 and IMAP; and one line of anything, of base64 for one, if a
 * header of much trace follows at once. Without a header there, and where the first line is a
 * field, the mail is all of it. Returns 0 or NB_NO_MEMORY. */
int nb_mail_of_file(struct nb_string file, struct nb_buffer *out, struct nb_string *mail);

#endif
