/* SPDX-License-Identifier: Apache-2.0
 *
 * The header fields that bayesc filter adds to a mail: the one with the status, and those that the
 * user has given as templates. One thread.
 */
#ifndef NB_CLIENT_STATUS_FIELDS_H
#define NB_CLIENT_STATUS_FIELDS_H

#include "server/client/base/flags.h"
#include "server/client/filter/status.h"
#include "server/mail/mail_fields.h"

struct nb_status_fields {
    const char *name;         /* of the field with the status */
    struct nb_flag_list all;  /* templates "NAME: TEXT" for every mail */
    struct nb_flag_list spam; /* the same, for spam only */
};

/* Checks the names and templates and adds all names to `fields`, which has none yet: fields of
 * these names that a mail brings are removed, for someone else wrote them. Returns 0 or
 * NB_CLIENT_USAGE. */
int nb_status_fields_check(const struct nb_status_fields *wanted, struct nb_fields *fields,
                           struct nb_error *error);

/* Appends the lines of the header fields to `out`. `model` is the name of the model. Returns 0 or
 * NB_NO_MEMORY. */
int nb_status_fields_write(const struct nb_status_fields *wanted, const char *model,
                           const struct nb_filter_status *status, struct nb_buffer *out);

#endif
