/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc filter: a mail goes in and comes out with a header. Main thread.
 */
#ifndef NB_CLIENT_FILTER_H
#define NB_CLIENT_FILTER_H

#include "server/client/client.h"

enum {
    NB_FILTER_SECONDS = 10, /* a mail server waits */
    NB_FILTER_FIELDS = 2 * NB_LIST_MOST + 1
};

/* Header fields that are to be added, and so are taken out first. */
struct nb_fields {
    struct nb_string names[NB_FILTER_FIELDS]; /* borrowed */
    size_t name_count;
    struct nb_buffer text; /* owned: whole lines, each with "\n" */
};

/* Puts the mail into `out`: the fields of these names taken out, the lines of `text` put in at the
 * top (behind an mbox "From " line), with the mail's own kind of line end. Everything else stays
 * byte for byte. NB_NO_MEMORY. */
int nb_fields_apply(const struct nb_fields *fields, struct nb_string mail, struct nb_buffer *out);

/* Copies standard input to standard output and says why. `options`: the filter's; NULL when they
 * could not be read. Returns the exit status. */
int nb_filter_give_up(const void *options, const char *reason);

#endif
