/* SPDX-License-Identifier: Apache-2.0
 *
 * RSPAMC/1.x: the handlers of its verbs. For the thread that works on the request.
 */
#ifndef NB_SERVER_MAIL_LINE_RSPAMC_H
#define NB_SERVER_MAIL_LINE_RSPAMC_H

#include "server/mail/line_route.h"

extern const struct nb_line_protocol nb_rspamc;

nb_handler nb_rspamc_check, nb_rspamc_ping;

#endif
