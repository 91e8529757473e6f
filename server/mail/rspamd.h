/* SPDX-License-Identifier: Apache-2.0
 *
 * rspamd's HTTP protocol: the paths that its clients request from a scanner and from a controller.
 * filter.h decides the answers. For the thread that works on the request, except the pure functions
 * that write JSON.
 */
#ifndef NB_SERVER_MAIL_RSPAMD_H
#define NB_SERVER_MAIL_RSPAMD_H

#include <stdint.h>

#include "core/base/buffer.h"
#include "server/http/request.h"

struct nb_config;
struct nb_filter_report;

/* The JSON of rspamd's protocol: the objects of rspamd 3.4, as its clients read them. Pure
 * functions; any thread. Writing appends to a buffer and returns 0 or NB_NO_MEMORY, in which case
 * the buffer is as it was before the call (emit.h). */
/* The two shapes of a report: for /checkv2, and for /check, /symbols and /scan, whose symbols lie
 * beside the score. */
enum nb_json_rspamd_shape { NB_JSON_RSPAMD_V2, NB_JSON_RSPAMD_OLD };

/* Writes a report. `each` holds the verdicts of single users from nb_filter_check; `seconds` is the
 * time that the verdict took. */
int nb_json_rspamd_report(struct nb_buffer *out, const struct nb_config *config,
                          const struct nb_filter_report *report, const struct nb_buffer *each,
                          enum nb_json_rspamd_shape shape, double seconds);

/* Writes {"error": detail}. For the statuses 401, 403 and from 500 on it adds the action "soft
 * reject", which makes every client try again later, whatever it does with the status. */
int nb_json_rspamd_error(struct nb_buffer *out, int status, const char *detail);

/* Write the reply to a mail that was learned, {"success": true}, and to a mail that had been
 * learned before: rspamd's exact sentence, which clients search for. `message_id` has no angle
 * brackets; it may be "". */
int nb_json_rspamd_learned(struct nb_buffer *out);
int nb_json_rspamd_unchanged(struct nb_buffer *out, const char *message_id, const char *class_name);

/* The figures of /stat. */
struct nb_json_rspamd_stat {
    const uint64_t *actions; /* by enum nb_filter_action */
    uint64_t learned;        /* changes since the start */
    uint64_t spam, ham;      /* documents of the model */
    uint64_t spam_tokens, ham_tokens;
    uint64_t uptime; /* seconds */
    uint64_t memory; /* bytes */
    const char *version;
};
int nb_json_rspamd_stat(struct nb_buffer *out, const struct nb_json_rspamd_stat *stat);
int nb_json_rspamd_auth(struct nb_buffer *out, const char *version, uint64_t uptime);

/* What a route's handler does (nb_route's `verb`). */
enum nb_rspamd_verb {
    NB_RSPAMD_CHECK = 1,  /* replies as /checkv2 */
    NB_RSPAMD_CHECK_OLD,  /* replies as /check, /symbols and /scan */
    NB_RSPAMD_CHECK_FORM, /* takes a form, as /checkv3 (rspamd_form.h) */
    NB_RSPAMD_LEARN_SPAM,
    NB_RSPAMD_LEARN_HAM,
    NB_RSPAMD_LEARN_CLASS /* the header field Class names the label */
};

extern const struct nb_protocol nb_protocol_rspamd;

nb_handler nb_route_rspamd_check;
nb_handler nb_route_rspamd_check_form;
nb_handler nb_route_rspamd_learn;
nb_handler nb_route_rspamd_ping;
nb_handler nb_route_rspamd_stat;
nb_handler nb_route_rspamd_auth;
nb_handler nb_route_rspamd_classifiers;

#endif
