/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells mails from other texts. Pure function; any thread.
 */
#ifndef NB_CLIENT_MAIL_LOOK_H
#define NB_CLIENT_MAIL_LOOK_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the bytes begin as a mail does: with header fields, two of them well known ones such as
 * From and Date. */
bool nb_looks_like_mail(const char *bytes, size_t length);

#endif
