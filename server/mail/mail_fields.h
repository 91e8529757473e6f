/* SPDX-License-Identifier: Apache-2.0
 *
 * Header fields put into a mail, without touching anything else of it. Pure functions; any thread.
 */
#ifndef NB_SERVER_MAIL_MAIL_FIELDS_H
#define NB_SERVER_MAIL_MAIL_FIELDS_H

#include "core/base/buffer.h"
#include "core/base/error.h"

/* The most that a caller adds: bayesc takes two lists of 64 names and has one of its own. */
enum { NB_FIELDS_MOST = 129 };

/* Header fields that are to be added, and so are taken out first. */
struct nb_fields {
    struct nb_string names[NB_FIELDS_MOST]; /* borrowed */
    size_t name_count;
    struct nb_buffer text; /* owned: whole lines, each with "\n" */
};

/* Puts the mail into `out`: the fields of these names taken out, the lines of `text` put in at the
 * top (behind an mbox "From " line), with the mail's own kind of line end. A field is also taken
 * out where only some readers see it: behind a bare CR, or with control characters in its name.
 * Everything else stays byte for byte. Returns 0 or NB_NO_MEMORY. */
int nb_fields_apply(const struct nb_fields *fields, struct nb_string mail, struct nb_buffer *out);

#endif
