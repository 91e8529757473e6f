/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs of the line protocols that older mail software speaks, and which function answers each:
 * RSPAMC (rspamd's before HTTP; Exim's `variant=rspamd`) and SPAMC (SpamAssassin's spamd/PROTOCOL;
 * spamc, Exim, Haraka). Read-only; any thread.
 */
#ifndef NB_SERVER_LINE_ROUTES_H
#define NB_SERVER_LINE_ROUTES_H

#include "server/router.h"

struct nb_line_protocol {
    const char *name;     /* the routes' pattern, for metrics and log */
    const char *greeting; /* what stands between verb and version: " SPAMC/" */
    /* The first version whose requests have header fields, major * 100 + minor. */
    unsigned first_with_fields;
    /* Makes the reply of a request that failed. */
    void (*fail)(struct nb_request *request, const struct nb_error *error);
};

struct nb_line_route {
    struct nb_route route; /* of NB_BODY_DOCUMENTS; or NB_BODY_NONE: its first line is all of it */
    const struct nb_line_protocol *protocol;
};

/* All of them; sets *count. Metrics count them behind the routes of HTTP (router.h). */
const struct nb_line_route *nb_line_route_table(size_t *count);

extern const struct nb_line_protocol nb_rspamc; /* line_rspamc.c */
extern const struct nb_line_protocol nb_spamc;  /* line_spamc.c */

nb_handler nb_rspamc_check, nb_rspamc_ping;
nb_handler nb_spamc_check, nb_spamc_symbols, nb_spamc_report, nb_spamc_process, nb_spamc_tell,
    nb_spamc_ping, nb_spamc_skip;

#endif
