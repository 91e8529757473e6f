/* SPDX-License-Identifier: Apache-2.0
 *
 * The status that bayesc filter gives a mail, made from the daemon's verdict and the thresholds of
 * the command line; and the header fields that it adds: the one with the status, and those that the
 * user has given as templates. Any thread.
 */
#ifndef NB_CLIENT_STATUS_H
#define NB_CLIENT_STATUS_H

#include <jansson.h>
#include <stdbool.h>

#include "server/client/base/flags.h"
#include "server/mail/mail_fields.h"

struct nb_status_thresholds {
    const char *positive; /* the label that means spam */
    double spam_from;     /* spam from this probability of spam on; below 0: when spam wins */
    double ham_to;        /* above it and below spam: unsure; below 0: nothing is unsure */
};

struct nb_filter_status {
    char name[65];      /* a label (at most 64 bytes) or "unsure" */
    double probability; /* of the named label; beside "unsure" that of spam */
    double of_spam;
    bool is_spam, is_unsure;
    const char *note; /* appended to the text of the header field; static, may be "" */
};

/* Makes the status from a verdict, the reply to /classify with its members label, probabilities and
 * ready, evidence, and documents, with which the probability is taken with caution
 * (server/filter/filter_mail.h). Of a model that is not ready and without thresholds it is spam
 * from .9 on, and unsure above .5. A model that has not both spam and other documents makes every
 * mail unsure, and so does a mail of which no token is known. Returns 0, or NB_INVALID when the
 * name of the status has control characters: it would end the header field that it is written to.
 */
int nb_status_judge(const struct nb_status_thresholds *thresholds, const json_t *verdict,
                    struct nb_filter_status *status);

/* The status of a mail when the model does not exist or has learned nothing. */
void nb_status_unknown(struct nb_filter_status *status);

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
