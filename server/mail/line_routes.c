/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/line_routes.h"

#include "server/filter/filter_load.h"
#include "server/mail/line_rspamc.h"
#include "server/mail/line_spamc.h"

#define RSPAMC(name, needed, takes, function)                                                      \
    {                                                                                              \
        .route = {.method = (name),                                                                \
                  .pattern = "rspamc",                                                             \
                  .role = (needed),                                                                \
                  .body = (takes),                                                                 \
                  .prepare = (takes) == NB_BODY_DOCUMENTS ? nb_filter_prepare : NULL,              \
                  .handler = (function),                                                           \
                  .protocol = &nb_rspamc.protocol},                                                \
        .protocol = &nb_rspamc                                                                     \
    }
#define SPAMC(name, needed, takes, function, which)                                                \
    {                                                                                              \
        .route = {.method = (name),                                                                \
                  .pattern = "spamc",                                                              \
                  .role = (needed),                                                                \
                  .body = (takes),                                                                 \
                  .prepare = (takes) == NB_BODY_DOCUMENTS ? nb_filter_prepare : NULL,              \
                  .handler = (function),                                                           \
                  .protocol = &nb_spamc.protocol,                                                  \
                  .verb = (which)},                                                                \
        .protocol = &nb_spamc                                                                      \
    }

static const struct nb_line_route ROUTES[] = {
    RSPAMC("CHECK", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_rspamc_check),
    RSPAMC("SYMBOLS", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_rspamc_check),
    RSPAMC("PING", NB_ROLE_NONE, NB_BODY_NONE, nb_rspamc_ping),
    SPAMC("CHECK", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_spamc_check, 0),
    SPAMC("SYMBOLS", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_spamc_symbols, 0),
    SPAMC("REPORT", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_spamc_report, NB_SPAMC_REPORT),
    SPAMC("REPORT_IFSPAM", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_spamc_report,
          NB_SPAMC_REPORT_IF_SPAM),
    SPAMC("PROCESS", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_spamc_process, NB_SPAMC_PROCESS),
    SPAMC("HEADERS", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_spamc_process, NB_SPAMC_HEADERS),
    SPAMC("TELL", NB_ROLE_TRAIN, NB_BODY_DOCUMENTS, nb_spamc_tell, 0),
    SPAMC("PING", NB_ROLE_NONE, NB_BODY_NONE, nb_spamc_ping, 0),
    SPAMC("SKIP", NB_ROLE_NONE, NB_BODY_NONE, nb_spamc_skip, 0),
};

const struct nb_line_route *nb_line_route_table(size_t *count)
{
    *count = sizeof ROUTES / sizeof ROUTES[0];
    return ROUTES;
}
