/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes.h"

#include "server/api/handlers.h"
#include "server/base/document_json.h"
#include "server/console/console_page.h"
#include "server/http/http_answer.h"
#include "server/mail/filter.h"
#include "server/mail/rspamd.h"
#include "server/nodes/nodes.h"

static const char *const NO_QUERY[] = {NULL};
static const char *const DOCUMENT_QUERY[] = {"label", "id", NULL};
static const char *const CHANGE_QUERY[] = {"label", "id", "source", NULL};
static const char *const TRAIN_QUERY[] = {"label",  "labels",     "separator", "id",
                                          "source", "unlabelled", "attached",  NULL};
static const char *const SOURCE_QUERY[] = {"source", NULL};
static const char *const CHALLENGER_QUERY[] = {"source", "dry_run", NULL};
static const char *const COPY_QUERY[] = {"source", "strength", NULL};
static const char *const PAGE_QUERY[] = {"limit", "after", NULL};
static const char *const UNDONE_QUERY[] = {"limit", "next", NULL};
static const char *const CLASSIFY_QUERY[] = {
    "explain",   "level",         "label",  "id",        "threshold", "target_fpr",  "cost_fp",
    "cost_fn",   "positive",      "scores", "documents", "remember",  "word_counts", "top",
    "min_known", "explain_label", NULL};
static const char *const HISTORY_QUERY[] = {"verdict", "from",     "to",       "least", "most",
                                            "source",  "contains", "labelled", "limit", "after",
                                            "total",   "skip",     NULL};
static const char *const EXPLAIN_QUERY[] = {"explain", "top", NULL};
static const char *const AT_QUERY[] = {"at", "stream", NULL};
static const char *const NEXT_QUERY[] = {"count", NULL};
/* Without the parameter for a rate of false positives, because its threshold differs from model to
 * model. */
static const char *const MANY_QUERY[] = {"explain", "level",     "threshold", "cost_fp",
                                         "cost_fn", "positive",  "documents", "remember",
                                         "top",     "min_known", NULL};
static const char *const EVALUATION_QUERY[] = {"positive", "target_fpr", "scores", NULL};
static const char *const DELETE_LABEL_QUERY[] = {"source", "limit", "next", NULL};
static const char *const FORMAT_QUERY[] = {"format", NULL};
static const char *const LEARN_QUERY[] = {"alpha", "separators", "prior", "source", NULL};
static const char *const VOCABULARY_QUERY[] = {"label", "limit", NULL};
static const char *const SAMPLE_QUERY[] = {"label", "length", "seed", "temperature", NULL};
static const char *const DISTRIBUTION_QUERY[] = {"label", "limit", "interval", NULL};
static const char *const MAIL_QUERY[] = {"deliver-to", "shm", "file", "path", NULL};

/* A row of the API: method, path, role, body, query, handler. */
#define API(verb_, path, needed, takes, parameters, function)                                      \
    {                                                                                              \
        .method = (verb_), .pattern = (path), .role = NB_ROLE_##needed, .body = NB_BODY_##takes,   \
        .query = (parameters), .handler = (function), .protocol = &nb_protocol_api                 \
    }
/* A row of the API whose work takes long. */
#define LONG(verb_, path, needed, takes, parameters, function)                                     \
    {                                                                                              \
        .method = (verb_), .pattern = (path), .role = NB_ROLE_##needed, .body = NB_BODY_##takes,   \
        .query = (parameters), .handler = (function), .protocol = &nb_protocol_api,                \
        .is_long = true                                                                            \
    }
#define QUARANTINE(path, what)                                                                     \
    {                                                                                              \
        .method = "POST", .pattern = (path), .role = NB_ROLE_ADMIN, .body = NB_BODY_SETTINGS,      \
        .query = SOURCE_QUERY, .handler = nb_route_quarantine_settle,                              \
        .protocol = &nb_protocol_api, .is_long = true, .verb = NB_QUARANTINE_##what                \
    }
/* A row for documents. Lines that change nothing never wait for the writer, so they are streams. */
#define DOCUMENTS(path, needed, parameters, what)                                                  \
    {                                                                                              \
        .method = "POST", .pattern = (path), .role = NB_ROLE_##needed, .body = NB_BODY_DOCUMENTS,  \
        .query = (parameters), .handler = nb_route_documents, .line = nb_route_documents_line,     \
        .prepare = nb_documents_prepare, .protocol = &nb_protocol_api, .verb = NB_VERB_##what,     \
        .is_stream = NB_ROLE_##needed == NB_ROLE_CLASSIFY                                          \
    }
#define RSPAMD_ROW(method_, path, needed, takes, parameters, before, function, what)               \
    {                                                                                              \
        .method = (method_), .pattern = (path), .role = NB_ROLE_##needed, .body = NB_BODY_##takes, \
        .query = (parameters), .handler = (function), .protocol = &nb_protocol_rspamd,             \
        .verb = (what), .prepare = (before), .is_stream = NB_ROLE_##needed == NB_ROLE_CLASSIFY     \
    }
/* rspamd does not look at the method; its proxy sends GET with a body. */
#define RSPAMD(path, needed, function, what)                                                       \
    RSPAMD_ROW("POST", path, needed, DOCUMENTS, MAIL_QUERY, nb_filter_prepare, function, what),    \
        RSPAMD_ROW("GET", path, needed, DOCUMENTS, MAIL_QUERY, nb_filter_prepare, function, what)

static const struct nb_route ROUTES[] = {
    DOCUMENTS("/v1/models/{model}/classify", CLASSIFY, CLASSIFY_QUERY, CLASSIFY),
    {.method = "POST",
     .pattern = "/v1/classify",
     .role = NB_ROLE_CLASSIFY,
     .body = NB_BODY_DOCUMENT,
     .query = MANY_QUERY,
     .handler = nb_route_classify_many,
     .protocol = &nb_protocol_api,
     .verb = NB_VERB_CLASSIFY,
     .is_stream = true},
    DOCUMENTS("/v1/models/{model}/train", TRAIN, TRAIN_QUERY, TRAIN),
    DOCUMENTS("/v1/models/{model}/untrain", TRAIN, CHANGE_QUERY, UNTRAIN),
    DOCUMENTS("/v1/models/{model}/tokenize", CLASSIFY, DOCUMENT_QUERY, TOKENIZE),
    LONG("GET", "/v1/models", CLASSIFY, NONE, PAGE_QUERY, nb_route_models),
    LONG("GET", "/v1/models/{model}", CLASSIFY, NONE, NO_QUERY, nb_route_model),
    LONG("PUT", "/v1/models/{model}", ADMIN, SETTINGS, SOURCE_QUERY, nb_route_put_model),
    LONG("DELETE", "/v1/models/{model}", ADMIN, NONE, SOURCE_QUERY, nb_route_delete_model),
    LONG("PATCH", "/v1/models/{model}/labels/{label}", ADMIN, SETTINGS, SOURCE_QUERY,
         nb_route_rename_label),
    LONG("DELETE", "/v1/models/{model}/labels/{label}", ADMIN, NONE, DELETE_LABEL_QUERY,
         nb_route_delete_label),
    LONG("POST", "/v1/models/{model}/refit", ADMIN, NONE, SOURCE_QUERY, nb_route_refit),
    LONG("POST", "/v1/models/{model}/from/{old}", ADMIN, NONE, COPY_QUERY, nb_route_copy_model),
    LONG("POST", "/v1/models/{model}/challenger", ADMIN, SETTINGS, CHALLENGER_QUERY,
         nb_route_make_challenger),
    LONG("GET", "/v1/models/{model}/challenger", CLASSIFY, NONE, NO_QUERY, nb_route_challenger),
    LONG("DELETE", "/v1/models/{model}/challenger", ADMIN, NONE, SOURCE_QUERY,
         nb_route_drop_challenger),
    LONG("POST", "/v1/models/{model}/challenger/promote", ADMIN, NONE, SOURCE_QUERY,
         nb_route_promote_challenger),
    /* For the role admin, like refit: one request may cause minutes of work. */
    LONG("POST", "/v1/models/{model}/cluster", ADMIN, SETTINGS, SOURCE_QUERY, nb_route_cluster),
    LONG("GET", "/v1/models/{model}/em", CLASSIFY, NONE, NO_QUERY, nb_route_em),
    LONG("POST", "/v1/models/{model}/em", ADMIN, NONE, NO_QUERY, nb_route_start_em),
    /* For the role admin, not train: an undo takes back documents of other clients without naming
     * them. */
    LONG("POST", "/v1/models/{model}/undo", ADMIN, SETTINGS, SOURCE_QUERY, nb_route_undo),
    LONG("GET", "/v1/models/{model}/undo", ADMIN, NONE, UNDONE_QUERY, nb_route_undone),
    LONG("GET", "/v1/models/{model}/sources", ADMIN, NONE, UNDONE_QUERY, nb_route_sources),
    LONG("GET", "/v1/models/{model}/quarantine", ADMIN, NONE, PAGE_QUERY, nb_route_quarantine),
    LONG("GET", "/v1/models/{model}/quarantine/effect", ADMIN, NONE, NO_QUERY,
         nb_route_quarantine_effect),
    QUARANTINE("/v1/models/{model}/quarantine/apply", APPLY),
    QUARANTINE("/v1/models/{model}/quarantine/drop", DROP),
    LONG("GET", "/v1/models/{model}/vocabulary", CLASSIFY, NONE, VOCABULARY_QUERY,
         nb_route_vocabulary),
    LONG("GET", "/v1/models/{model}/sample", CLASSIFY, NONE, SAMPLE_QUERY, nb_route_sample),
    LONG("GET", "/v1/models/{model}/distribution", CLASSIFY, NONE, DISTRIBUTION_QUERY,
         nb_route_distribution),
    LONG("GET", "/v1/models/{model}/evaluation", CLASSIFY, NONE, EVALUATION_QUERY,
         nb_route_evaluation),
    API("GET", "/v1/models/{model}/documents/{id}", CLASSIFY, NONE, NO_QUERY, nb_route_document),
    LONG("PATCH", "/v1/models/{model}/documents/{id}", TRAIN, SETTINGS, SOURCE_QUERY,
         nb_route_label_document),
    LONG("DELETE", "/v1/models/{model}/documents/{id}", TRAIN, NONE, SOURCE_QUERY,
         nb_route_forget_document),
    LONG("POST", "/v1/models/{model}/documents/{id}/label", TRAIN, SETTINGS, SOURCE_QUERY,
         nb_route_label_document),
    /* The history shows the mail of others, so the role classify is not enough. */
    LONG("GET", "/v1/models/{model}/history", TRAIN, NONE, HISTORY_QUERY, nb_route_history),
    LONG("GET", "/v1/models/{model}/history/{id}", TRAIN, NONE, EXPLAIN_QUERY,
         nb_route_history_verdict),
    LONG("GET", "/v1/models/{model}/next", TRAIN, NONE, NEXT_QUERY, nb_route_next),
    LONG("GET", "/v1/models/{model}/suspects", TRAIN, NONE, PAGE_QUERY, nb_route_suspects),
    LONG("GET", "/v1/models/{model}/export", ADMIN, NONE, NO_QUERY, nb_route_export),
    {.method = "PUT",
     .pattern = "/v1/models/{model}/import",
     .role = NB_ROLE_ADMIN,
     .body = NB_BODY_DUMP,
     .query = SOURCE_QUERY,
     .handler = nb_route_import,
     .line = nb_route_import_line,
     .protocol = &nb_protocol_api,
     .is_long = true},
    LONG("GET", "/v1/networks", CLASSIFY, NONE, PAGE_QUERY, nb_route_networks),
    LONG("GET", "/v1/networks/{network}", CLASSIFY, NONE, FORMAT_QUERY, nb_route_network),
    /* PUT replaces the whole network. */
    LONG("PUT", "/v1/networks/{network}", ADMIN, SETTINGS, SOURCE_QUERY, nb_route_put_network),
    LONG("POST", "/v1/networks/{network}", ADMIN, SETTINGS, SOURCE_QUERY, nb_route_post_network),
    LONG("DELETE", "/v1/networks/{network}", ADMIN, NONE, NO_QUERY, nb_route_delete_network),
    LONG("POST", "/v1/networks/{network}/query", CLASSIFY, SETTINGS, NO_QUERY,
         nb_route_query_network),
    LONG("POST", "/v1/networks/{network}/learn", ADMIN, ROWS, LEARN_QUERY, nb_route_learn_network),
    LONG("POST", "/v1/backup", ADMIN, NONE, NO_QUERY, nb_route_backup),
    RSPAMD("/checkv2", CLASSIFY, nb_route_rspamd_check, NB_RSPAMD_CHECK),
    RSPAMD_ROW("POST", "/checkv3", CLASSIFY, DOCUMENTS, MAIL_QUERY, nb_filter_prepare,
               nb_route_rspamd_check_form, NB_RSPAMD_CHECK_FORM),
    RSPAMD("/check", CLASSIFY, nb_route_rspamd_check, NB_RSPAMD_CHECK_OLD),
    RSPAMD("/symbols", CLASSIFY, nb_route_rspamd_check, NB_RSPAMD_CHECK_OLD),
    RSPAMD("/scan", CLASSIFY, nb_route_rspamd_check, NB_RSPAMD_CHECK_OLD),
    RSPAMD("/learnspam", TRAIN, nb_route_rspamd_learn, NB_RSPAMD_LEARN_SPAM),
    RSPAMD("/learnham", TRAIN, nb_route_rspamd_learn, NB_RSPAMD_LEARN_HAM),
    RSPAMD("/learnclass", TRAIN, nb_route_rspamd_learn, NB_RSPAMD_LEARN_CLASS),
    RSPAMD_ROW("GET", "/ping", NONE, NONE, NO_QUERY, NULL, nb_route_rspamd_ping, 0),
    RSPAMD_ROW("GET", "/stat", CLASSIFY, NONE, NO_QUERY, nb_filter_prepare, nb_route_rspamd_stat,
               0),
    RSPAMD_ROW("GET", "/auth", CLASSIFY, NONE, NO_QUERY, NULL, nb_route_rspamd_auth, 0),
    RSPAMD_ROW("GET", "/bayes/classifiers", CLASSIFY, NONE, NO_QUERY, NULL,
               nb_route_rspamd_classifiers, 0),
    API("GET", "/healthz", NONE, NONE, NO_QUERY, nb_route_healthz),
    API("GET", "/v1/access", CLASSIFY, NONE, NO_QUERY, nb_route_access),
    LONG("GET", "/v1/state/digest", ADMIN, NONE, AT_QUERY, nb_route_digest),
    {.method = "GET",
     .pattern = "/v1/nodes",
     .role = NB_ROLE_CLASSIFY,
     .body = NB_BODY_NONE,
     .query = NO_QUERY,
     .handler = nb_route_nodes,
     .protocol = &nb_protocol_api,
     .is_of_all = true,
     .is_long = true},
    API("GET", "/readyz", CLASSIFY, NONE, NO_QUERY, nb_route_readyz),
    {.method = "GET",
     .pattern = "/metrics",
     .role = NB_ROLE_CLASSIFY,
     .body = NB_BODY_NONE,
     .query = NO_QUERY,
     .handler = nb_route_metrics,
     .protocol = &nb_protocol_api,
     .is_of_all = true,
     .is_long = true},
    {.method = "GET",
     .pattern = "/v1/traffic",
     .role = NB_ROLE_CLASSIFY,
     .body = NB_BODY_NONE,
     .query = NO_QUERY,
     .handler = nb_route_traffic,
     .protocol = &nb_protocol_api,
     .is_of_all = true},
    API("GET", "/openapi.json", CLASSIFY, NONE, NO_QUERY, nb_route_openapi),
    API("GET", "/", NONE, NONE, NO_QUERY, nb_route_page),
    API("GET", "/console/{file}", NONE, NONE, NO_QUERY, nb_route_asset),
};

const struct nb_route *nb_route_table(size_t *count)
{
    *count = sizeof ROUTES / sizeof ROUTES[0];
    return ROUTES;
}
