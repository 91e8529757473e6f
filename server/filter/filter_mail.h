/* SPDX-License-Identifier: Apache-2.0
 *
 * The mail inside of what mail software sends, and its fields as they are shown. Pure functions;
 * any thread.
 */
#ifndef NB_SERVER_FILTER_FILTER_MAIL_H
#define NB_SERVER_FILTER_FILTER_MAIL_H

#include <stddef.h>

#include "core/base/string.h"

struct nb_config;

enum {
    NB_FILTER_FIELD = 998 + 1 /* of the mail's header; RFC 5322, 2.1.1: a line has 998 bytes */
};

/* The mail inside of what mail software sends: without an mbox "From " line in front, and without
 * the pseudo header fields X-Envelope-From and X-Envelope-To that Exim puts before the mail's own
 * (src/spam.c of Exim 4.96). */
struct nb_string nb_filter_mail(struct nb_string body);

/* The mail's Message-ID without angle brackets, on one line; "" when it has none. */
void nb_filter_message_id(const struct nb_config *config, struct nb_string mail,
                          char message_id[NB_FILTER_FIELD]);

/* Copies a text to one line of printable characters, what goes into replies that are lines: at most
 * `room` bytes with the NUL (at least 1). */
void nb_filter_copy_clean(struct nb_string from, char *to, size_t room);

/* An address without the blanks and the angle brackets around it. */
struct nb_string nb_filter_without_angles(struct nb_string s);

/* The mail's subject as [filter] subject has it; the mail's own words stay as they are encoded. */
void nb_filter_rewrite_subject(const struct nb_config *config, struct nb_string mail,
                               char subject[NB_FILTER_FIELD]);

#endif
