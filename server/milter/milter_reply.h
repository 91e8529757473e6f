/* SPDX-License-Identifier: Apache-2.0
 *
 * The reply of bayesd about a mail (/checkv2 of rspamd's protocol), checked strictly: a reply of
 * another form is not a verdict. Any thread; a reply belongs to one thread.
 */
#ifndef NB_MILTER_MILTER_REPLY_H
#define NB_MILTER_MILTER_REPLY_H

#include <jansson.h>

#include "core/base/error.h"

enum {
    NB_MILTER_REPLY_HEADERS = 1024,    /* header fields that a reply may add, and remove */
    NB_MILTER_REPLY_NAME_BYTES = 160,  /* of the name of a header field */
    NB_MILTER_REPLY_VALUE_BYTES = 8192 /* of a header field, folded, or of an SMTP reply */
};

enum nb_milter_action {
    NB_MILTER_DO_PASS, /* with the header fields of the reply */
    NB_MILTER_DO_REWRITE_SUBJECT,
    NB_MILTER_DO_SOFT_REJECT,
    NB_MILTER_DO_REJECT
};

/* All pointers but `json` point into `json`, or are static. */
struct nb_milter_reply {
    enum nb_milter_action action;
    const char *name; /* of the action, as bayesd names it */
    double score;
    const char *subject; /* the new one, or NULL */
    const char *text;    /* for the SMTP reply, or NULL */
    json_t *add;         /* header fields to add: {name: text}, or NULL */
    json_t *remove; /* fields to remove: {name: index among that name, from 1; 0: all}, or NULL */
    json_t *json;   /* owned */
};

/* Reads a reply. `json` belongs to `reply` afterwards, also after a failure. Returns 0 or
 * NB_CALL_PROTOCOL. */
int nb_milter_reply_read(json_t *json, struct nb_milter_reply *reply, struct nb_error *error);

void nb_milter_reply_deinit(struct nb_milter_reply *reply);

#endif
