/* SPDX-License-Identifier: Apache-2.0
 *
 * SPAMC/1.x: the handlers of its verbs. For the thread that works on the request.
 */
#ifndef NB_SERVER_MAIL_LINE_SPAMC_H
#define NB_SERVER_MAIL_LINE_SPAMC_H

#include "server/mail/line_route.h"

/* The verbs that share a handler. */
enum nb_spamc_verb {
    NB_SPAMC_REPORT = 1,
    NB_SPAMC_REPORT_IF_SPAM,
    NB_SPAMC_PROCESS,
    NB_SPAMC_HEADERS
};

extern const struct nb_line_protocol nb_spamc;

nb_handler nb_spamc_check, nb_spamc_symbols;
nb_handler nb_spamc_report;  /* REPORT and REPORT_IFSPAM */
nb_handler nb_spamc_process; /* PROCESS and HEADERS */
nb_handler nb_spamc_tell, nb_spamc_ping, nb_spamc_skip;

#endif
