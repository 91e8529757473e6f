/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/filter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/events/events.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/tokens.h"
#include "server/http/wait.h"
#include "server/mail/filter_options.h"
#include "server/mail/filter_report.h"

/* How many of the strongest tokens of a mail are requested; the report names the first ones of each
 * field. */
enum { EXPLAIN = 256 };

/* One mail, and the state of the questions about it. */
struct asking {
    struct nb_server *server;
    const struct nb_config *config;
    const char *models;
    const struct nb_request *request; /* the request; NULL: the verdicts are not kept */
    struct nb_document document;
    struct nb_buffer *each; /* for the verdicts of single users; NULL: not wanted */
    struct nb_verdict *verdict;
    bool is_again; /* a model was asked about the mail before: it is not tokenized again */
};

static int classify(struct asking *a, const char *model, struct nb_error *error)
{
    size_t explain = a->config->filter_evidence > 0 ? EXPLAIN : 0;
    bool is_again = a->is_again;
    a->is_again = true;
    a->verdict->wants_counts = false;
    return is_again ? nb_engine_classify_again(a->server->engine, nb_string_of(model), &a->document,
                                               explain, a->verdict, error)
                    : nb_engine_classify(a->server->engine, nb_string_of(model), &a->document,
                                         explain, a->verdict, error);
}

/* How much a model can say about a mail. */
enum knowledge {
    KNOWS_NOTHING,  /* its documents have no spam, or only spam */
    KNOWS_A_LITTLE, /* it gives a verdict but is not ready: another model is preferred */
    KNOWS,
};

static const char *missing_of(bool is_unknown, const struct nb_filter_spam *spam)
{
    if (is_unknown)
        return "nothing was learned yet";
    return spam->is_known ? "all documents are spam, there must be another label"
                          : "no mail has a label of [filter] spam_labels";
}

/* Keeps the verdict in the history of the model, if it keeps one. The mail gets its verdict even if
 * keeping fails. */
static void keep(const struct asking *a, const struct nb_verdict *verdict)
{
    static const struct nb_kept_verdict of_the_mail = {.id = {"", 0}, .source = {"", 0}};
    struct nb_buffer id = {0};
    bool is_kept;
    if (a->request != NULL && verdict->keeps_history)
        (void)nb_verdict_keep(a->request, verdict, &a->document, &of_the_mail, &id, &is_kept, NULL);
    nb_buffer_deinit(&id);
}

/* Asks one model, and makes the report if its knowledge is at least `least`. With `least`
 * KNOWS_NOTHING there is always a report. A model without a label of spam knows nothing: [filter]
 * names other labels. Only the labels of [filter] must be ready: spam is judged against all other
 * labels together, whatever else somebody has trained. */
static int ask(struct asking *a, enum knowledge least, struct nb_filter_report *report,
               enum knowledge *knowledge, struct nb_error *error)
{
    struct nb_verdict *verdict = a->verdict;
    assert(verdict != NULL); /* ask_models has lent one */
    struct nb_error why = {0};
    int rc = classify(a, report->model, &why);
    bool is_unknown = rc == NB_NOT_FOUND || rc == NB_CONFLICT; /* nothing was learned yet */
    if (rc != 0 && !is_unknown)
        return nb_error_set(error, rc, "%s", why.text);
    struct nb_filter_spam spam = {.is_known = false};
    if (rc == 0)
        nb_filter_need(a->config, verdict);
    if (rc == 0 && nb_filter_find_spam(a->config, verdict, &spam) != 0)
        return nb_error_no_memory(error);
    *knowledge = !spam.has_others ? KNOWS_NOTHING : verdict->ready ? KNOWS : KNOWS_A_LITTLE;
    if (*knowledge != KNOWS_NOTHING && *knowledge >= least) {
        nb_filter_report_verdict(a->config, verdict, &spam, report);
        keep(a, verdict);
    } else if (least == KNOWS_NOTHING) {
        nb_filter_report_not_ready(missing_of(is_unknown, &spam),
                                   is_unknown ? ", nothing learned" : ", too little learned",
                                   report);
    }
    nb_verdict_reset(verdict);
    return 0;
}

/* Asks the model of one user if it is ready, else the common model. If that knows nothing, the
 * user's own model judges although it is not ready. */
static int ask_for(struct asking *a, struct nb_string user, struct nb_filter_report *report,
                   struct nb_error *error)
{
    const char *common = a->config->filter_model;
    enum knowledge own = KNOWS_NOTHING, of_all = KNOWS_NOTHING;
    report->symbol_count = 0;
    bool has_own = nb_filter_model(a->config, user, report->model, NULL) == 0 &&
                   strcmp(report->model, common) != 0;
    bool has_common = nb_models_match(a->models, nb_string_of(common));
    int rc = nb_models_check(a->models, nb_string_of(has_own ? report->model : common), error);
    if (rc == 0 && has_own)
        rc = ask(a, has_common ? KNOWS : KNOWS_NOTHING, report, &own, error);
    if (rc != 0 || own == KNOWS || (has_own && !has_common))
        return rc;
    (void)snprintf(report->model, sizeof report->model, "%s", common);
    rc = ask(a, own == KNOWS_NOTHING ? KNOWS_NOTHING : KNOWS_A_LITTLE, report, &of_all, error);
    if (rc != 0 || own == KNOWS_NOTHING || of_all != KNOWS_NOTHING)
        return rc;
    (void)nb_filter_model(a->config, user, report->model, NULL); /* succeeds as above */
    return ask(a, KNOWS_NOTHING, report, &own, error);
}

/* Notes the verdict for a user under the name of the user's own model, even if another model gave
 * it: so users find their verdicts in one place, before and after their models are ready. */
static int note_each(const struct asking *a, struct nb_string user,
                     const struct nb_filter_report *report, struct nb_error *error)
{
    char model[NB_FILTER_MODEL];
    if (a->each == NULL || nb_filter_model(a->config, user, model, NULL) != 0 ||
        strcmp(model, a->config->filter_model) == 0)
        return 0;
    int rc = nb_buffer_append(a->each, model, strlen(model) + 1);
    if (rc == 0)
        rc = nb_filter_status(report, a->each);
    if (rc == 0)
        rc = nb_buffer_append(a->each, "", 1);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* Tells of an unsure verdict of a model that is ready. */
static void tell_unsure(const struct asking *a, const struct nb_filter_report *report)
{
    if (!report->is_ready || strcmp(report->status, "unsure") != 0 ||
        !nb_events_want_unsure(a->server->events))
        return;
    nb_events_unsure(a->server->events,
                     &(struct nb_unsure_verdict){
                         .model = nb_string_of(report->model),
                         .message_id = nb_string_of(report->message_id),
                         .probability = report->probability,
                         .protocol = a->request != NULL ? a->request->route->protocol->door : "",
                     });
}

static int ask_and_note(struct asking *a, struct nb_string user, struct nb_filter_report *report,
                        struct nb_error *error)
{
    int rc = ask_for(a, user, report, error);
    if (rc == 0)
        tell_unsure(a, report);
    return rc == 0 ? note_each(a, user, report, error) : rc;
}

static bool is_milder(const struct nb_filter_report *a, const struct nb_filter_report *b)
{
    return a->action < b->action || (a->action == b->action && a->probability < b->probability);
}

/* Reports the mildest verdict of several users' models: no user's mail is treated more harshly than
 * the user's own model demands. The report does not name the model, because the mail may go to
 * users who must not know of each other. */
static int ask_for_all(struct asking *a, const struct nb_string *users, size_t count,
                       struct nb_filter_report *report, struct nb_error *error)
{
    assert(count > 0);
    struct nb_filter_report *one = malloc(sizeof *one);
    if (one == NULL)
        return nb_error_no_memory(error);
    int rc = ask_and_note(a, users[0], report, error);
    for (size_t i = 1; i < count && rc == 0; i++) {
        *one = *report;
        rc = ask_and_note(a, users[i], one, error);
        if (rc == 0 && is_milder(one, report))
            *report = *one;
    }
    (void)snprintf(report->model, sizeof report->model, "%s", a->config->filter_user_model);
    free(one);
    return rc;
}

static int ask_models(struct asking *a, const struct nb_string *users, size_t count,
                      struct nb_filter_report *report, struct nb_error *error)
{
    const struct nb_string nobody = {"", 0};
    struct nb_scratch *scratch = nb_scratch_take(a->server->scratch);
    if (scratch == NULL)
        return nb_error_no_memory(error);
    a->verdict = &scratch->verdict;
    int rc = count > 1 ? ask_for_all(a, users, count, report, error)
                       : ask_and_note(a, count > 0 ? users[0] : nobody, report, error);
    nb_scratch_give(a->server->scratch, scratch);
    return rc;
}

int nb_filter_check(struct nb_server *server, const struct nb_config *config, const char *models,
                    const struct nb_document *document, const struct nb_string *users, size_t count,
                    const struct nb_request *request, struct nb_filter_report *report,
                    struct nb_buffer *each, struct nb_error *error)
{
    enum { EACH = 1 };
    enum nb_filter_action action;
    struct asking asking = {.server = server,
                            .config = config,
                            .models = models,
                            .request = request,
                            .each = config->filter_several_users == EACH ? each : NULL,
                            .document = *document};
    const struct nb_string mail = {document->bytes, document->length};
    assert(models != NULL && document->kind == NB_DOCUMENT_MAIL);
    report->action = NB_FILTER_NO_ACTION;
    report->status = "unsure";
    report->note = "";
    report->is_test = report->is_ready = false;
    report->probability = 0.5;
    report->log_odds = 0;
    report->symbol_count = 0;
    report->message_id[0] = report->subject[0] = '\0';
    (void)snprintf(report->model, sizeof report->model, "%s", config->filter_model);
    if (mail.length == 0)
        return 0;
    nb_filter_message_id(config, mail, report->message_id);
    int rc = 0;
    if (nb_filter_find_test(config, mail, &action))
        nb_filter_report_test(config, action, report);
    else
        rc = ask_models(&asking, users, count, report, error);
    if (report->action == NB_FILTER_REWRITE_SUBJECT)
        nb_filter_rewrite_subject(config, mail, report->subject);
    if (rc == 0) {
        nb_metrics_mail(server->metrics, report->action);
        nb_metrics_verdict(server->metrics);
        nb_engine_count_verdict(server->engine);
    }
    return rc;
}

/* ---- users ----------------------------------------------------------------------------------- */

/* Sets `model` to the model of a user, or to the common model if the address makes no name of a
 * model. */
static void name_model(const struct nb_config *config, struct nb_string user,
                       char model[NB_FILTER_MODEL])
{
    if (nb_filter_model(config, user, model, NULL) != 0)
        (void)nb_filter_model(config, (struct nb_string){"", 0}, model, NULL); /* cannot fail */
}

static bool is_there(const struct nb_string *users, size_t count, struct nb_string user)
{
    size_t i = 0;
    while (i < count && (users[i].length != user.length ||
                         strncasecmp(users[i].bytes, user.bytes, user.length) != 0))
        i++;
    return i < count;
}

/* A list of users, with room for `most`; the names lie behind the strings. */
struct list {
    struct nb_string *users;
    char (*names)[NB_USER_NAME];
    size_t count, most;
};

/* Adds the user whom a name means. Returns false when there is no room. */
static bool add_user(const struct nb_request *request, struct nb_string name, struct list *list)
{
    assert(list->count <= list->most);
    char user[NB_USER_NAME];
    nb_user_map_find(request->configuration->users, name, user);
    if (is_there(list->users, list->count, nb_string_of(user)))
        return true;
    if (list->count == list->most)
        return false;
    memcpy(list->names[list->count], user, sizeof user);
    list->users[list->count] = nb_string_of(list->names[list->count]);
    list->count++;
    return true;
}

/* Takes the first name off a list. A comma always separates: the name of a model cannot have
 * one. */
static struct nb_string take_name(struct nb_string *list)
{
    const char *comma = memchr(list->bytes, ',', list->length);
    struct nb_string name = {list->bytes,
                             comma != NULL ? (size_t)(comma - list->bytes) : list->length};
    *list = nb_string_from(*list, name.length + (comma != NULL));
    return name;
}

/* Adds the users in all fields of this name, each of which may be a list. Returns false when there
 * is no room for all. */
static bool take_fields(const struct nb_request *request, const char *field, bool is_list,
                        struct list *list)
{
    size_t at = 0;
    struct nb_string text;
    while ((text = request->carrier->next_field(request, field, &at)).bytes != NULL) {
        do {
            if (!add_user(request, is_list ? take_name(&text) : text, list))
                return false;
        } while (is_list && text.length > 0);
    }
    return true;
}

int nb_filter_users(const struct nb_request *request, struct nb_string **users, size_t *count,
                    struct nb_error *error)
{
    const struct nb_protocol *protocol = request->route->protocol;
    size_t most = (size_t)request->config->classify_models;
    struct list list = {.most = most};
    assert(protocol->is_for_mail && protocol->user_field != NULL && most > 0);
    *users = NULL;
    *count = 0;
    if (request->config->filter_user_model[0] == '\0')
        return 0;
    *users = list.users = malloc(most * (sizeof **users + sizeof *list.names));
    if (*users == NULL)
        return nb_error_no_memory(error);
    list.names = (char(*)[NB_USER_NAME])(*users + most);
    bool fits = take_fields(request, protocol->user_field, false, &list);
    struct nb_string other = nb_request_field(request, protocol->user_field);
    if (list.count == 0 && other.bytes != NULL) /* a query parameter may replace the field */
        fits = add_user(request, other, &list);
    if (list.count == 0 && protocol->recipient_field != NULL)
        fits = take_fields(request, protocol->recipient_field, true, &list);
    *count = fits ? list.count : 0;
    return 0;
}

void nb_filter_learner(const struct nb_request *request, char user[NB_USER_NAME])
{
    assert(request->route->protocol->user_field != NULL); /* of mail software */
    struct nb_string name = nb_request_field(request, request->route->protocol->user_field);
    nb_user_map_find(request->configuration->users, name, user);
}

/* ---- parents --------------------------------------------------------------------------------- */

static bool learns(const struct nb_request *request)
{
    const char *field = request->route->protocol->set_field;
    return request->route->role == NB_ROLE_TRAIN &&
           (field == NULL || nb_request_field(request, field).bytes != NULL);
}

/* Whether learning will make the user's model, and the model shall get a parent. Sets `model` to
 * its name. */
static bool wants_parent(struct nb_request *request, char model[NB_FILTER_MODEL])
{
    const struct nb_config *config = request->config;
    struct nb_string source;
    char user[NB_USER_NAME];
    nb_filter_learner(request, user);
    if (!learns(request) || config->filter_user_parent[0] == '\0' || !config->auto_create ||
        user[0] == '\0' || nb_filter_model(config, nb_string_of(user), model, NULL) != 0 ||
        strcmp(model, config->filter_model) == 0 ||
        nb_engine_has_model(request->server->engine, nb_string_of(model)))
        return false;
    return nb_request_check_model(request, nb_string_of(model), NULL) == 0 &&
           nb_request_source(request, &source, NULL) == 0 &&
           !nb_request_is_quarantined(request, &source);
}

/* Makes a model for mail unless one with this name exists. `parent` may be NULL. */
static int make_model(struct nb_request *request, const char *name, const char *parent,
                      struct nb_error *error)
{
    struct nb_engine *engine = request->server->engine;
    struct nb_settings settings;
    struct nb_string source;
    bool created;
    if (nb_engine_has_model(engine, nb_string_of(name)))
        return 0;
    nb_settings_init(&settings, NB_PRESET_MAIL);
    settings.parent = parent != NULL ? strdup(parent) : NULL;
    int rc = parent != NULL && settings.parent == NULL ? nb_error_no_memory(error) : 0;
    if (rc == 0)
        rc = nb_request_source(request, &source, error);
    if (rc == 0)
        rc = nb_engine_put_model(engine, nb_string_of(name), &settings, true, source, &created,
                                 error);
    nb_settings_deinit(&settings);
    return rc == NB_CONFLICT && nb_engine_has_model(engine, nb_string_of(name)) ? 0 : rc;
}

/* Makes the common model, that of the domain if domains have models, and the user's model. On the
 * pool. */
static void make_chain(struct nb_request *request, const char *model)
{
    const struct nb_config *config = request->config;
    struct nb_error why = {0};
    char parent[NB_FILTER_MODEL], user[NB_USER_NAME];
    nb_filter_learner(request, user);
    int rc = nb_filter_parent(config, nb_string_of(user), parent, &why);
    bool is_common = rc == 0 && strcmp(parent, config->filter_model) == 0;
    bool is_of_domain = strstr(config->filter_user_parent, "%d") != NULL;
    if (rc == 0 && (is_common || is_of_domain))
        rc = make_model(request, config->filter_model, NULL, &why);
    if (rc == 0 && !is_common)
        rc = make_model(request, parent, is_of_domain ? config->filter_model : NULL, &why);
    if (rc == 0)
        rc = make_model(request, model, parent, &why);
    if (rc != 0) /* learning continues and makes a model without a parent */
        nb_log(NB_LOG_WARNING, "a user's model gets no parent model=%s reason=%s", model, why.text);
}

/* ---- loading --------------------------------------------------------------------------------- */

static bool is_loaded(const struct nb_request *request, const struct nb_string *users, size_t count)
{
    struct nb_engine *engine = request->server->engine;
    bool is_all = nb_engine_is_loaded(engine, nb_string_of(request->config->filter_model));
    for (size_t i = 0; i < count && is_all; i++) {
        char model[NB_FILTER_MODEL];
        name_model(request->config, users[i], model);
        is_all = nb_engine_is_loaded(engine, nb_string_of(model));
    }
    return is_all;
}

/* Makes and loads the models. On the pool. Ignores failures: they occur again when the models are
 * used. */
static int load(struct nb_request *request, struct nb_error *error)
{
    struct nb_engine *engine = request->server->engine;
    struct nb_string *users;
    size_t count;
    char made[NB_FILTER_MODEL];
    if (wants_parent(request, made))
        make_chain(request, made);
    if (nb_filter_users(request, &users, &count, error) == 0) {
        for (size_t i = 0; i < count; i++) {
            char model[NB_FILTER_MODEL];
            name_model(request->config, users[i], model);
            (void)nb_engine_load(engine, nb_string_of(model), error);
        }
    }
    free(users);
    (void)nb_engine_load(engine, nb_string_of(request->config->filter_model), error);
    return 0;
}

/* Checks that this node follows the models that judge the mail: without its user's model, which may
 * be on another node, a mail would get another verdict. A request to learn is checked later, when
 * its model is known. */
static int check_follows(struct nb_request *request, const struct nb_string *users, size_t count,
                         struct nb_error *error)
{
    const struct nb_config *config = request->config;
    int rc = 0;
    if (request->route->role == NB_ROLE_TRAIN)
        return 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        char model[NB_FILTER_MODEL];
        name_model(config, users[i], model);
        rc = nb_request_check_follows(request, nb_string_of(model), error);
    }
    return rc != 0 ? rc
                   : nb_request_check_follows(request, nb_string_of(config->filter_model), error);
}

int nb_filter_check_follows(struct nb_request *request, struct nb_error *error)
{
    struct nb_string *users;
    size_t count;
    int rc = nb_filter_users(request, &users, &count, error);
    if (rc == 0)
        rc = check_follows(request, users, count, error);
    free(users);
    return rc;
}

int nb_filter_prepare(struct nb_request *request, struct nb_error *error)
{
    struct nb_string *users;
    size_t count;
    char model[NB_FILTER_MODEL];
    int rc = nb_filter_users(request, &users, &count, error);
    if (rc == 0)
        rc = check_follows(request, users, count, error);
    bool is_ready = rc == 0 && is_loaded(request, users, count) && !wants_parent(request, model);
    free(users);
    return rc != 0 || is_ready ? rc : nb_work_run(request, request->server->loads, load, error);
}
