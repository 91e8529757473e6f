/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc filter: a mail goes in and comes out with a header. Main thread.
 */
#ifndef NB_CLIENT_FILTER_H
#define NB_CLIENT_FILTER_H

#include "server/client/client.h"
#include "server/mail/mail_fields.h"

_Static_assert(NB_FIELDS_MOST >= 2 * NB_LIST_MOST + 1, "both lists and the name");

enum { NB_FILTER_SECONDS = 10 }; /* a mail server waits */

/* Copies standard input to standard output and says why. `options`: the filter's; NULL when they
 * could not be read. Returns the exit status. */
int nb_filter_give_up(const void *options, const char *reason);

#endif
