/* SPDX-License-Identifier: Apache-2.0
 *
 * What bayesd says about a mail (the reply of /checkv2 of rspamd's protocol), read strictly: a
 * reply that is not as it should be is no verdict. Any thread; a verdict belongs to one.
 */
#ifndef NB_MILTER_VERDICT_H
#define NB_MILTER_VERDICT_H

#include <jansson.h>

#include "core/base/error.h"

enum {
    NB_VERDICT_HEADERS = 32,      /* header fields that a reply may add, and remove */
    NB_VERDICT_NAME_BYTES = 64,   /* of a header field */
    NB_VERDICT_VALUE_BYTES = 8192 /* of a header field, folded, or of an SMTP reply */
};

enum nb_verdict_action {
    NB_VERDICT_PASS, /* with the header fields of the reply */
    NB_VERDICT_REWRITE_SUBJECT,
    NB_VERDICT_SOFT_REJECT,
    NB_VERDICT_REJECT
};

/* All but `action` and `score` point into `reply`. */
struct nb_verdict {
    enum nb_verdict_action action;
    const char *name; /* of the action */
    double score;
    const char *subject; /* the new one, or NULL */
    const char *text;    /* of an SMTP reply, or NULL */
    json_t *add;         /* name to text, or NULL */
    json_t *remove;      /* name to number: which of that name, 0 for all; or NULL */
    json_t *reply;       /* owned */
};

/* Reads a reply, which the verdict owns afterwards, also on failure. NB_CLIENT_PROTOCOL says what
 * is wrong with it. */
int nb_verdict_read(json_t *reply, struct nb_verdict *verdict, struct nb_error *error);

void nb_verdict_deinit(struct nb_verdict *verdict);

#endif
