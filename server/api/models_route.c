/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/handlers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/archive/copy/copy.h"
#include "core/base/names.h"
#include "core/engine/engine.h"
#include "core/jobs/challenger/challenger.h"
#include "core/jobs/merge/merge.h"
#include "server/base/model_json.h"
#include "server/base/settings_json.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"

/* Tokens that GET .../vocabulary lists without `limit`. */
enum { LIMIT_DEFAULT = 50 };

/* Models on a page of GET /v1/models without `limit`. */
enum { PAGE_DEFAULT = 1000 };

/* Most documents that a prior may count as, as in the setting parent_strength. */
enum { STRENGTH_MOST = 1000000000 };

/* Reads the page's parameters: ?after and ?limit. */
static int read_page(const struct nb_request *request, struct nb_string *after, size_t *limit,
                     struct nb_error *error)
{
    *after = nb_request_query(request, "after");
    int rc = nb_request_query_rows(request, PAGE_DEFAULT, limit, error);
    return rc == 0 && after->length > 0 ? nb_check_model_name(*after, error) : rc;
}

/* Some models, by name. */
struct model_page {
    struct nb_model_info *infos; /* owned */
    size_t count;
    bool more;
};

static void page_deinit(struct model_page *page)
{
    for (size_t i = 0; i < page->count; i++)
        nb_model_info_deinit(&page->infos[i]);
    free(page->infos);
    *page = (struct model_page){.infos = NULL};
}

/* Keeps only the models that the request's token is for. */
static void filter_page(const struct nb_request *request, struct model_page *page)
{
    size_t kept = 0;
    for (size_t i = 0; i < page->count; i++) {
        if (nb_request_is_for(request, nb_string_of(page->infos[i].name)))
            page->infos[kept++] = page->infos[i];
        else
            nb_model_info_deinit(&page->infos[i]);
    }
    page->count = kept;
}

/* Finds the first models after `after` that the token is for, at least one if there is one. Skips
 * pages that have none. */
static int find_models(struct nb_request *request, struct nb_string after, size_t limit,
                       struct model_page *page, struct nb_error *error)
{
    char *last = NULL; /* owned: the last name of the page before */
    int rc;
    do {
        page_deinit(page);
        rc = nb_engine_models(request->server->engine, after, limit, &page->infos, &page->count,
                              &page->more, error);
        free(last);
        last = rc == 0 && page->more
                   ? nb_string_copy(nb_string_of(page->infos[page->count - 1].name))
                   : NULL;
        if (rc == 0 && page->more && last == NULL)
            rc = nb_error_no_memory(error);
        if (rc == 0)
            rc = nb_request_check_cut(request, error);
        after = nb_string_of(last);
        filter_page(request, page);
    } while (rc == 0 && page->more && page->count == 0);
    free(last);
    return rc;
}

int nb_route_models(struct nb_request *request, struct nb_error *error)
{
    struct nb_string after;
    size_t limit;
    struct model_page page = {.infos = NULL};
    int rc = read_page(request, &after, &limit, error);
    if (rc == 0)
        rc = find_models(request, after, limit, &page, error);
    if (rc == 0)
        rc = nb_reply_written(
            request, nb_json_models(&request->reply.body, page.infos, page.count, page.more),
            error);
    page_deinit(&page);
    return rc;
}

int nb_reply_model(struct nb_request *request, uint64_t dropped, struct nb_error *error)
{
    struct nb_model_info info;
    int rc = nb_engine_model(request->server->engine, request->model, &info, error);
    if (rc != 0)
        return rc;
    info.quarantine_dropped = dropped;
    rc = nb_json_model(&request->reply.body, &info, true);
    nb_model_info_deinit(&info);
    return nb_reply_written(request, rc, error);
}

int nb_route_model(struct nb_request *request, struct nb_error *error)
{
    return nb_reply_model(request, 0, error);
}

/* Replies with the model, and with a warning unless it is empty. */
static int reply_warned(struct nb_request *request, struct nb_model_info *info, const char *text,
                        struct nb_error *error)
{
    info->warning = text[0] != '\0' ? text : NULL;
    int rc = nb_json_model(&request->reply.body, info, true);
    nb_model_info_deinit(info);
    return nb_reply_written(request, rc, error);
}

/* Names in a model's settings that no document of it has. */
struct unseen {
    const struct nb_model_info *info;
    char text[1024]; /* a sentence with all of them, as far as there is room */
};

static void add_unseen(struct unseen *u, const char *setting, const char *what, const char *name)
{
    size_t at = strlen(u->text);
    if (sizeof u->text - at > (size_t)2 * NB_LABEL_WARNING)
        (void)snprintf(u->text + at, sizeof u->text - at,
                       "%s%s names the %s '%.200s', of which the model has no document",
                       at > 0 ? "; " : "", setting, what, name);
}

/* Adds a label if the model does not have it. *from, 0 at first, is the place from which on labels
 * are looked for: those of a setting are sorted, as are the model's. */
static void add_label(struct unseen *u, const char *setting, const char *label, size_t *from)
{
    size_t k = *from;
    while (k < u->info->label_count && strcmp(u->info->labels[k].label, label) < 0)
        k++;
    if (k == u->info->label_count || strcmp(u->info->labels[k].label, label) != 0)
        add_unseen(u, setting, "label", label);
    *from = k;
}

static void add_labels(struct unseen *u, const char *setting, const struct nb_prior_weight *weights,
                       size_t count)
{
    size_t from = 0;
    for (size_t i = 0; i < count; i++)
        add_label(u, setting, weights[i].label, &from);
}

static void add_labels_of_thresholds(struct unseen *u, const struct nb_settings *settings)
{
    size_t from = 0;
    for (size_t i = 0; i < settings->threshold_count; i++)
        add_label(u, "thresholds", settings->thresholds[i].label, &from);
}

static void add_value(void *user, const char *field, const char *value)
{
    char name[NB_LABEL_WARNING];
    (void)snprintf(name, sizeof name, "%.100s=%.100s", field, value);
    add_unseen(user, "smoothing", "value", name);
}

/* Replies with the model as it is now. Labels and values of its settings that it does not have are
 * a typing error more often than not; a model that has learned nothing has none. */
static int reply_put(struct nb_request *request, struct nb_error *error)
{
    struct nb_model_info info;
    struct unseen u = {.info = &info};
    int rc = nb_engine_model(request->server->engine, request->model, &info, error);
    if (rc != 0)
        return rc;
    const struct nb_settings *s = &info.settings;
    const struct nb_smoothing *by = &s->smoothing_by;
    if (info.label_count > 0) {
        add_labels(&u, "prior", s->weights, s->weight_count);
        add_labels_of_thresholds(&u, s);
        add_labels(&u, "smoothing", by->labels, by->label_count);
        for (size_t f = 0; f < by->field_count; f++)
            for (size_t v = 0; by->fields[f].labels != NULL && v < by->fields[f].count; v++)
                add_labels(&u, "smoothing", by->fields[f].labels[v].list,
                           by->fields[f].labels[v].count);
        if (by->field_count > 0) /* a model that cannot be read has no warnings */
            (void)nb_engine_unseen_values(request->server->engine, request->model, add_value, &u,
                                          NULL);
    }
    return reply_warned(request, &info, u.text, error);
}

int nb_route_put_model(struct nb_request *request, struct nb_error *error)
{
    struct nb_engine *engine = request->server->engine;
    struct nb_settings settings;
    struct nb_model_info existing;
    struct nb_string source;
    bool created = false;
    int rc = nb_check_model_name(request->model, error);
    if (rc == 0)
        rc = nb_request_source(request, &source, error);
    if (rc != 0)
        return rc;
    bool exists = nb_engine_model(engine, request->model, &existing, NULL) == 0;
    bool is_known = exists && !existing.is_damaged;
    rc = nb_json_settings_read(request->body, is_known ? &existing.settings : NULL,
                               is_known && existing.documents + existing.unlabelled > 0, &settings,
                               error);
    if (exists)
        nb_model_info_deinit(&existing);
    if (rc != 0)
        return rc;
    if (settings.parent != NULL) /* the parent's counts show in verdicts and explanations */
        rc = nb_request_check_model(request, nb_string_of(settings.parent), error);
    if (rc == 0)
        rc = nb_engine_put_model(engine, request->model, &settings, request->only_new, source,
                                 &created, error);
    nb_settings_deinit(&settings);
    request->has_changed = rc == 0;
    if (rc == 0)
        rc = reply_put(request, error);
    if (rc == 0)
        request->reply.status = created ? 201 : 200;
    return rc;
}

int nb_route_delete_model(struct nb_request *request, struct nb_error *error)
{
    struct nb_string source;
    int rc = nb_request_source(request, &source, error);
    if (rc == 0)
        rc = nb_engine_delete_model(request->server->engine, request->model, source, error);
    if (rc == 0) /* if this fails, the thread of the challengers does it later */
        (void)nb_challenger_drop(request->server->engine, request->model, source, NULL);
    return rc != 0 ? rc : nb_reply_with(request, 204, NULL);
}

static int merge_label(struct nb_request *request, struct nb_string from, struct nb_string into,
                       bool is_new, struct nb_string source, struct nb_error *error)
{
    uint64_t merged;
    const struct nb_merge_options options = {.model = request->model,
                                             .from = from,
                                             .into = into,
                                             .is_new = is_new,
                                             .source = source,
                                             .stop = nb_request_is_cut,
                                             .user = request};
    int rc = nb_label_merge(request->server->engine, &options, &merged, error);
    request->has_changed = merged > 0;
    return rc;
}

/* Finds the label that the new name is probably a misspelling of. Sets `text` to a warning, or to
 * "". */
static void warn_of_name(const struct nb_model_info *info, struct nb_string name,
                         char text[NB_LABEL_WARNING])
{
    enum nb_label_difference most = NB_LABEL_OTHER;
    text[0] = '\0';
    for (size_t i = 0; i < info->label_count; i++) {
        struct nb_string other = nb_string_of(info->labels[i].label);
        if (info->labels[i].documents == 0)
            continue;
        enum nb_label_difference difference = nb_label_difference_of(name, other);
        if (difference > most)
            nb_label_difference_say(name, other, difference, text);
        most = difference > most ? difference : most;
    }
}

static int reply_renamed(struct nb_request *request, struct nb_string name, struct nb_error *error)
{
    char text[NB_LABEL_WARNING];
    struct nb_model_info info;
    int rc = nb_engine_model(request->server->engine, request->model, &info, error);
    if (rc != 0)
        return rc;
    warn_of_name(&info, name, text);
    return reply_warned(request, &info, text, error);
}

int nb_route_rename_label(struct nb_request *request, struct nb_error *error)
{
    struct nb_string source, label = request->id; /* the path's second parameter */
    struct nb_buffer buffer = {NULL, 0, 0}, room = {NULL, 0, 0};
    bool merges = false;
    int rc = nb_request_source(request, &source, error);
    if (rc == 0 && nb_label_normalize(&label, &room) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_json_rename_read(request->body, &buffer, &merges, error);
    struct nb_string name = {buffer.bytes, buffer.length};
    bool is_several = rc == 0 && nb_engine_is_several(request->server->engine, request->model);
    if (rc == 0 && (merges || is_several)) {
        rc = merge_label(request, label, name, is_several && !merges, source, error);
    } else if (rc == 0) {
        rc = nb_engine_rename_label(request->server->engine, request->model, label, name, source,
                                    error);
        request->has_changed = rc == 0;
    }
    if (rc == 0)
        rc = merges ? nb_route_model(request, error) : reply_renamed(request, name, error);
    nb_buffer_deinit(&room);
    nb_buffer_deinit(&buffer);
    return rc;
}

int nb_route_refit(struct nb_request *request, struct nb_error *error)
{
    struct nb_string source;
    int rc = nb_request_source(request, &source, error);
    if (rc == 0)
        rc = nb_engine_refit(request->server->engine, request->model, source, nb_request_is_cut,
                             request, error);
    request->has_changed = rc == 0;
    return rc != 0 ? rc : nb_route_model(request, error);
}

/* Checks that the token is for the copy that becomes the prior, which is a model of its own. */
static int check_prior(struct nb_request *request, struct nb_error *error)
{
    struct nb_buffer name = {0};
    int rc = nb_buffer_printf(&name, "%.*s%s", (int)request->model.length, request->model.bytes,
                              NB_PRIOR_SUFFIX);
    rc = rc == 0 ? nb_request_check_model(request, nb_string_of(name.bytes), error)
                 : nb_error_no_memory(error);
    nb_buffer_deinit(&name);
    return rc;
}

static int copy_model(struct nb_request *request, const struct nb_copy *copy,
                      struct nb_error *error)
{
    struct nb_engine *engine = request->server->engine;
    uint64_t strength = 0;
    if (nb_request_query(request, "strength").bytes == NULL)
        return nb_model_copy(engine, copy, error);
    int rc = nb_request_query_count(request, "strength", 0, STRENGTH_MOST, &strength, error);
    if (rc == 0 && strength == 0)
        rc = nb_error_set(error, NB_INVALID, "query parameter 'strength' is at least 1");
    if (rc == 0)
        rc = check_prior(request, error);
    return rc != 0 ? rc : nb_model_copy_prior(engine, copy, strength, error);
}

int nb_route_copy_model(struct nb_request *request, struct nb_error *error)
{
    struct nb_copy copy = {.from = request->id, /* the path's second parameter */
                           .to = request->model,
                           .seconds = request->config->backup_seconds,
                           .stop = nb_request_is_cut,
                           .user = request};
    int rc = nb_request_check_model(request, copy.from, error);
    if (rc == 0)
        rc = nb_request_source(request, &copy.source, error);
    if (rc == 0)
        rc = copy_model(request, &copy, error);
    request->has_changed = rc == 0;
    if (rc == 0)
        rc = nb_route_model(request, error);
    if (rc == 0)
        request->reply.status = 201;
    return rc;
}

/* ---- vocabulary ------------------------------------------------------------------------------ */

struct listing {
    struct nb_request *request;
    struct nb_json_vocabulary json;
    struct nb_error *error; /* errors of writing, which the engine does not see */
};

static int settle(struct listing *l, int rc)
{
    if (rc != 0)
        return nb_error_no_memory(l->error);
    rc = nb_request_check_cut(l->request, l->error);
    return rc != 0 ? rc : nb_spool_settle(&l->request->reply.spool, l->error);
}

static int list_header(void *user, uint64_t size, const char *const *labels, size_t count)
{
    struct listing *l = user;
    return settle(l, nb_json_vocabulary_begin(&l->json, size, labels, count));
}

static int list_token(void *user, const struct nb_telling_token *token)
{
    struct listing *l = user;
    return settle(l, nb_json_vocabulary_token(&l->json, token));
}

int nb_route_vocabulary(struct nb_request *request, struct nb_error *error)
{
    const struct nb_config *config = request->config;
    struct nb_string label = nb_request_query(request, "label");
    struct nb_error own = {0}, engines = {0};
    struct listing listing = {request, {.out = &request->reply.spool.tail}, &own};
    struct nb_vocabulary_sink sink = {list_header, list_token, &listing};
    uint64_t limit;
    if (label.bytes == NULL)
        return nb_error_set(error, NB_INVALID, "query parameter 'label' is missing");
    int rc = nb_request_query_count(request, "limit", LIMIT_DEFAULT, config->listing_rows, &limit,
                                    error);
    if (rc != 0)
        return rc;
    nb_reply_spool(request);
    rc = nb_engine_vocabulary(request->server->engine, request->model, label, (size_t)limit,
                              (size_t)config->listing_cells, &sink, &engines);
    if (rc == 0)
        rc = settle(&listing, nb_json_vocabulary_end(&listing.json));
    if (rc != 0) {
        *error = own.code != 0 ? own : engines;
        return error->code;
    }
    return nb_reply_spooled(request, 200, "application/json", error);
}

/* ---- documents ------------------------------------------------------------------------------- */

int nb_route_document(struct nb_request *request, struct nb_error *error)
{
    struct nb_document_info info;
    int rc = nb_engine_document(request->server->engine, request->model, request->id, &info, error);
    if (rc != 0)
        return rc;
    rc = nb_json_document_info(&request->reply.body, request->id, &info);
    nb_document_info_deinit(&info);
    return nb_reply_written(request, rc, error);
}
