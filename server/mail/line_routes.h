/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs of the line protocols that older mail software speaks, and the functions that answer
 * them. Read-only; any thread.
 */
#ifndef NB_SERVER_MAIL_LINE_ROUTES_H
#define NB_SERVER_MAIL_LINE_ROUTES_H

#include <stddef.h>

#include "server/http/request.h"

/* A line protocol and its verbs: RSPAMC (rspamd's before HTTP; Exim's `variant=rspamd`) or SPAMC
 * (SpamAssassin's spamd/PROTOCOL; spamc, Exim, Haraka). */
struct nb_line_protocol {
    struct nb_protocol protocol; /* for its routes */
    const char *greeting;        /* the text between verb and version: " SPAMC/" */
    /* The first version whose requests have header fields, major * 100 + minor. */
    unsigned first_with_fields;
    bool takes_zlib; /* the header field Compress may announce a compressed body */
};

struct nb_line_route {
    struct nb_route route; /* with NB_BODY_DOCUMENTS, or NB_BODY_NONE if a request is only its first
                              line. `method` is the verb, `pattern` the protocol's name */
    const struct nb_line_protocol *protocol;
};

extern const struct nb_line_protocol nb_spamc;

nb_handler nb_spamc_check, nb_spamc_symbols;
nb_handler nb_spamc_report;  /* REPORT and REPORT_IFSPAM */
nb_handler nb_spamc_process; /* PROCESS and HEADERS */
nb_handler nb_spamc_tell, nb_spamc_ping, nb_spamc_skip;

/* Returns all verbs and sets *count. Metrics count them after the routes of HTTP. */
const struct nb_line_route *nb_line_route_table(size_t *count);

/* RSPAMC/1.x: the handlers of its verbs. For the thread that works on the request. */
extern const struct nb_line_protocol nb_rspamc;

nb_handler nb_rspamc_check, nb_rspamc_ping;

#endif
