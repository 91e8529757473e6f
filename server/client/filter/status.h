/* SPDX-License-Identifier: Apache-2.0
 *
 * The status that bayesc filter gives a mail, made from the daemon's verdict and the thresholds of
 * the command line. Pure functions; any thread.
 */
#ifndef NB_CLIENT_STATUS_H
#define NB_CLIENT_STATUS_H

#include <jansson.h>
#include <stdbool.h>

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
 * (server/filter/caution.h). Of a model that is not ready and without thresholds it is spam from .9
 * on, and unsure above .5. A model that has not both spam and other documents makes every mail
 * unsure, and so does a mail of which no token is known. Returns 0, or NB_INVALID when the name of
 * the status has control characters: it would end the header field that it is written to. */
int nb_status_judge(const struct nb_status_thresholds *thresholds, const json_t *verdict,
                    struct nb_filter_status *status);

/* The status of a mail when the model does not exist or has learned nothing. */
void nb_status_unknown(struct nb_filter_status *status);

#endif
