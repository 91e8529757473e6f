/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs of the line protocols that older mail software speaks, and which function answers each.
 * Read-only; any thread.
 */
#ifndef NB_SERVER_MAIL_LINE_ROUTES_H
#define NB_SERVER_MAIL_LINE_ROUTES_H

#include <stddef.h>

#include "server/mail/line_route.h"

/* All of them; sets *count. Metrics count them behind the routes of HTTP. */
const struct nb_line_route *nb_line_route_table(size_t *count);

/* RSPAMC/1.x: the handlers of its verbs. For the thread that works on the request. */
extern const struct nb_line_protocol nb_rspamc;

nb_handler nb_rspamc_check, nb_rspamc_ping;

#endif
