/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts header fields into a mail and leaves everything else as it is. Pure functions; any thread.
 */
#ifndef NB_SERVER_MAIL_MAIL_FIELDS_H
#define NB_SERVER_MAIL_MAIL_FIELDS_H

#include "core/base/buffer.h"
#include "core/base/error.h"

/* The most fields that a caller adds: bayesc takes two lists of 64 names and has one of its own. */
enum { NB_FIELDS_MOST = 129 };

/* Header fields to add. Fields of the same names that the mail has are removed first. */
struct nb_fields {
    struct nb_string names[NB_FIELDS_MOST]; /* borrowed */
    size_t name_count;
    struct nb_buffer text; /* owned: whole lines, each with "\n" */
};

/* Writes the mail to `out` without the fields of these names, and with the lines of `text` at the
 * top (after an mbox "From " line), with the mail's own kind of line end. A field is also removed
 * where only some readers see it: behind a bare CR, or with control characters in its name.
 * Everything else stays byte for byte. Returns 0 or NB_NO_MEMORY. */
int nb_fields_apply(const struct nb_fields *fields, struct nb_string mail, struct nb_buffer *out);

#endif
