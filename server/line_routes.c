/* SPDX-License-Identifier: Apache-2.0 */
#include "server/line_routes.h"

static const struct nb_line_route ROUTES[] = {
    {{"CHECK", "rspamc", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, NULL, nb_rspamc_check, NULL, false},
     &nb_rspamc},
    {{"SYMBOLS", "rspamc", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, NULL, nb_rspamc_check, NULL, false},
     &nb_rspamc},
    {{"PING", "rspamc", NB_ROLE_NONE, NB_BODY_NONE, NULL, nb_rspamc_ping, NULL, false}, &nb_rspamc},
    {{"CHECK", "spamc", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, NULL, nb_spamc_check, NULL, false},
     &nb_spamc},
    {{"SYMBOLS", "spamc", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, NULL, nb_spamc_symbols, NULL, false},
     &nb_spamc},
    {{"REPORT", "spamc", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, NULL, nb_spamc_report, NULL, false},
     &nb_spamc},
    {{"REPORT_IFSPAM", "spamc", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, NULL, nb_spamc_report, NULL,
      false},
     &nb_spamc},
    {{"PROCESS", "spamc", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, NULL, nb_spamc_process, NULL, false},
     &nb_spamc},
    {{"HEADERS", "spamc", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, NULL, nb_spamc_process, NULL, false},
     &nb_spamc},
    {{"TELL", "spamc", NB_ROLE_TRAIN, NB_BODY_DOCUMENTS, NULL, nb_spamc_tell, NULL, false},
     &nb_spamc},
    {{"PING", "spamc", NB_ROLE_NONE, NB_BODY_NONE, NULL, nb_spamc_ping, NULL, false}, &nb_spamc},
    {{"SKIP", "spamc", NB_ROLE_NONE, NB_BODY_NONE, NULL, nb_spamc_skip, NULL, false}, &nb_spamc},
};

const struct nb_line_route *nb_line_route_table(size_t *count)
{
    *count = sizeof ROUTES / sizeof ROUTES[0];
    return ROUTES;
}
