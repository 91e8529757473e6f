/* SPDX-License-Identifier: Apache-2.0
 *
 * The status that bayesc filter gives a mail, made from the daemon's verdict and the thresholds of
 * the command line; and the header fields that it adds: the field with the status, and those from
 * the user's templates. Any thread.
 */
#ifndef NB_SERVER_CLIENT_COMMANDS_MAIL_STATUS_H
#define NB_SERVER_CLIENT_COMMANDS_MAIL_STATUS_H

#include <jansson.h>
#include <stdbool.h>

#include "server/client/base/flags.h"
#include "server/mail/mail_fields.h"

struct nb_status_thresholds {
    const char *positive; /* the label that means spam */
    double spam_from;     /* spam if P(spam) is at least this; below 0: if spam wins */
    double ham_to;        /* unsure if above this and not spam; below 0: never unsure */
};

struct nb_filter_status {
    char name[65];      /* a label (at most 64 bytes) or "unsure" */
    double probability; /* of the label in `name`; for "unsure" that of spam */
    double of_spam;
    bool is_spam, is_unsure;
    const char *note; /* appended to the text of the header field; static, may be "" */
};

/* Makes the status from a verdict, the reply to /classify. Uses its members label, probabilities,
 * ready, evidence and documents; the numbers of documents moderate the probability
 * (server/mail/filter_options.h). If the model is not ready and no thresholds are set, a mail is
 * spam from .9 on, and unsure above .5. If a model that is not ready lacks spam or other documents,
 * every mail is unsure. A mail without known tokens is always unsure. Returns 0, or NB_INVALID when
 * the name of the status has control characters, which could end the header field. */
int nb_status_judge(const struct nb_status_thresholds *thresholds, const json_t *verdict,
                    struct nb_filter_status *status);

/* Sets the status of a mail for a model that does not exist or has learned nothing. */
void nb_status_unknown(struct nb_filter_status *status);

struct nb_status_fields {
    const char *name;         /* of the field with the status */
    struct nb_flag_list all;  /* templates "NAME: TEXT" for every mail */
    struct nb_flag_list spam; /* templates for spam only */
};

/* Checks the names and templates and adds all names to `fields`, which must be empty. Fields with
 * these names are removed from a mail that comes in, because someone else wrote them. Returns 0 or
 * NB_CLIENT_USAGE. */
int nb_status_fields_check(const struct nb_status_fields *wanted, struct nb_fields *fields,
                           struct nb_error *error);

/* Appends the lines of the header fields to `out`. `model` is the name of the model. Returns 0 or
 * NB_NO_MEMORY. */
int nb_status_fields_write(const struct nb_status_fields *wanted, const char *model,
                           const struct nb_filter_status *status, struct nb_buffer *out);

#endif
