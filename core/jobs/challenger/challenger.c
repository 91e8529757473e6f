/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes, promotes and drops challengers.
 */
#include "core/jobs/challenger/challenger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/names.h"
#include "core/jobs/challenger/challenger_private.h"
#include "core/ledger/ledger.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"

enum { NAMES_AT_ONCE = 1000, SAMPLED = 200 /* documents whose entries are measured */ };

bool nb_challenger_name(struct nb_string model, char name[NB_MODEL_NAME_MOST + 1])
{
    name[0] = '\0';
    if (model.length + sizeof NB_CHALLENGER_SUFFIX > NB_MODEL_NAME_MOST + 1)
        return false;
    (void)snprintf(name, NB_MODEL_NAME_MOST + 1, "%.*s" NB_CHALLENGER_SUFFIX, (int)model.length,
                   model.bytes);
    return true;
}

/* ---- cost ------------------------------------------------------------------------------------ */

struct sampling {
    uint64_t count, bytes;
};

static int measure(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct sampling *s = user;
    (void)error;
    s->bytes += entry->bytes.length;
    return ++s->count == SAMPLED;
}

int nb_challenger_cost(struct nb_engine *engine, struct nb_string model,
                       struct nb_challenger_cost *cost, struct nb_error *error)
{
    struct nb_live *live = NULL;
    struct nb_view view;
    struct nb_model_info info;
    struct sampling s = {.count = 0};
    *cost = (struct nb_challenger_cost){.documents = 0};
    int rc = nb_engine_model(engine, model, &info, error);
    if (rc != 0)
        return rc;
    cost->documents = info.documents + info.unlabelled;
    nb_model_info_deinit(&info);
    rc = nb_registry_find(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    cost->memory = nb_live_memory(live);
    rc = nb_store_snapshot(engine->store, &view, error);
    if (rc == 0) {
        rc = nb_ledger_walk_only(&view, live->number, 0, NB_LEDGER_LIVING, measure, &s, error);
        nb_store_snapshot_end(&view);
    }
    nb_registry_release(engine, &live);
    if (rc < 0)
        return rc;
    if (s.count > 0)
        cost->disk = s.bytes / s.count * cost->documents;
    return 0;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* What a challenger does not do by itself: it forgets what the champion forgets, learns what that
 * learns, and is not asked. */
static void calm(struct nb_settings *settings)
{
    settings->max_age = settings->max_documents = 0;
    settings->near_duplicates = 0;
    settings->history = 0;
}

static const char *other_than_verdicts(const struct nb_settings *a, const struct nb_settings *b)
{
    if (a->max_age != b->max_age || a->max_documents != b->max_documents)
        return a->max_age != b->max_age ? "max_age" : "max_documents";
    if (a->near_duplicates != b->near_duplicates ||
        a->near_duplicate_window != b->near_duplicate_window)
        return a->near_duplicates != b->near_duplicates ? "near_duplicates"
                                                        : "near_duplicate_window";
    if (a->history != b->history || a->history_days != b->history_days ||
        a->history_subject != b->history_subject)
        return "history";
    return a->new_fields != b->new_fields ? "new_fields" : NULL;
}

static int check_settings(const struct nb_model_info *info, const struct nb_settings *settings,
                          struct nb_error *error)
{
    const struct nb_settings *old = &info->settings;
    const char *name = other_than_verdicts(settings, old);
    if (name != NULL)
        return nb_error_about(error,
                              nb_error_set(error, NB_UNUSABLE,
                                           "`%s` does not change verdicts, so a challenger cannot "
                                           "try it: put it to the model",
                                           name),
                              NULL, name);
    if (settings->tokenizer_fields != old->tokenizer_fields)
        return nb_error_about(
            error,
            nb_error_set(error, NB_CONFLICT,
                         "`tokenizer` (also as part of a `preset`) must be that of the model: a "
                         "challenger learns from what was counted, because texts are not kept"),
            NULL, "tokenizer");
    if (settings->attribute_count != old->attribute_count ||
        !nb_settings_keep_attributes(settings, old))
        return nb_error_about(error,
                              nb_error_set(error, NB_CONFLICT,
                                           "`fields` must be those of the model: a challenger "
                                           "learns from what was counted"),
                              NULL, "fields");
    return 0;
}

static int check_kind(struct nb_engine *engine, const struct nb_model_info *info,
                      struct nb_error *error)
{
    struct nb_settings now = {.tokenizer_version = 0};
    if (info->is_damaged)
        return nb_error_set(error, NB_DAMAGED, "the model '%s' is damaged (%s)", info->name,
                            info->damage);
    if (info->settings.is_challenger)
        return nb_error_set(error, NB_CONFLICT, "the model '%s' is a challenger itself",
                            info->name);
    if (engine->settings.shared)
        return nb_error_set(error, NB_CONFLICT,
                            "several nodes share their changes, and would not compare the same: a "
                            "daemon without [nodes] can have challengers");
    nb_settings_set_tokenizer(&now, NULL);
    if (info->documents + info->unlabelled > 0 &&
        info->settings.tokenizer_version != now.tokenizer_version)
        return nb_error_set(error, NB_CONFLICT,
                            "the documents were counted by an older tokenizer: export the model "
                            "and train a new one for a challenger");
    return 0;
}

int nb_challenger_check(struct nb_engine *engine, struct nb_string model,
                        const struct nb_settings *settings, struct nb_error *error)
{
    char name[NB_MODEL_NAME_MOST + 1];
    struct nb_model_info info, other;
    int rc = nb_engine_model(engine, model, &info, error);
    if (rc != 0)
        return rc;
    rc = check_kind(engine, &info, error);
    if (rc == 0 && (nb_settings_are_several(&info.settings) || nb_settings_are_several(settings)))
        rc = nb_error_about(error,
                            nb_error_set(error, NB_UNUSABLE,
                                         "a model whose documents have several labels has no "
                                         "challenger: its documents have no scores from before "
                                         "they were learned"),
                            "several_labels", NULL);
    if (rc == 0)
        rc = check_settings(&info, settings, error);
    nb_model_info_deinit(&info);
    if (rc == 0 && !nb_challenger_name(model, name))
        rc = nb_error_set(error, NB_UNUSABLE,
                          "the name of the model is too long: with " NB_CHALLENGER_SUFFIX
                          " it would have more than %d bytes",
                          NB_MODEL_NAME_MOST);
    if (rc != 0 || nb_engine_model(engine, nb_string_of(name), &other, NULL) != 0)
        return rc;
    rc = other.settings.is_challenger
             ? nb_error_set(error, NB_CONFLICT,
                            "the model has a challenger already: promote or drop it first")
             : nb_error_set(error, NB_CONFLICT,
                            "the challenger would have the name '%s', which a model has already",
                            name);
    nb_model_info_deinit(&other);
    return rc;
}

int nb_challenger_make(struct nb_engine *engine, struct nb_string model,
                       const struct nb_settings *settings, struct nb_string source,
                       struct nb_error *error)
{
    char name[NB_MODEL_NAME_MOST + 1];
    struct nb_settings own;
    bool created;
    int rc = nb_challenger_check(engine, model, settings, error);
    if (rc != 0)
        return rc;
    if (nb_settings_copy(&own, settings) != 0)
        return nb_error_no_memory(error);
    (void)nb_challenger_name(model, name); /* it was checked */
    calm(&own);
    nb_calibration_free(&own.fitted); /* of the champion's probabilities */
    own.is_challenger = true;
    rc = nb_engine_put_model(engine, nb_string_of(name), &own, true, source, &created, error);
    nb_settings_deinit(&own);
    return rc;
}

/* ---- the end --------------------------------------------------------------------------------- */

int nb_challenger_model(struct nb_engine *engine, struct nb_string model,
                        struct nb_model_info *info, struct nb_error *error)
{
    char name[NB_MODEL_NAME_MOST + 1];
    bool is_there = nb_challenger_name(model, name) &&
                    nb_engine_model(engine, nb_string_of(name), info, NULL) == 0;
    if (is_there && (info->is_damaged || info->settings.is_challenger))
        return 0;
    if (is_there)
        nb_model_info_deinit(info);
    return nb_error_set(error, NB_NOT_FOUND, "the model '%.*s' has no challenger",
                        (int)model.length, model.bytes);
}

int nb_challenger_drop(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                       struct nb_error *error)
{
    struct nb_model_info info;
    int rc = nb_challenger_model(engine, model, &info, error);
    if (rc != 0)
        return rc;
    rc = nb_engine_delete_model(engine, nb_string_of(info.name), source, error);
    nb_model_info_deinit(&info);
    return rc;
}

/* Sets what a challenger has switched off as the champion has it. */
static int settings_of(struct nb_engine *engine, struct nb_string model,
                       const struct nb_settings *challenger, struct nb_settings *settings,
                       struct nb_error *error)
{
    struct nb_model_info info;
    int rc = nb_engine_model(engine, model, &info, error);
    if (rc != 0)
        return rc;
    if (info.is_damaged)
        rc = nb_error_set(error, NB_DAMAGED, "the model '%s' is damaged (%s)", info.name,
                          info.damage);
    else if (nb_settings_copy(settings, challenger) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0) {
        settings->max_age = info.settings.max_age;
        settings->max_documents = info.settings.max_documents;
        settings->near_duplicates = info.settings.near_duplicates;
        settings->history = info.settings.history;
        settings->is_challenger = false;
        nb_calibration_free(&settings->fitted); /* it is fitted again */
    }
    nb_model_info_deinit(&info);
    return rc;
}

int nb_challenger_promote(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                          struct nb_error *error)
{
    struct nb_model_info info;
    struct nb_settings settings;
    bool created;
    int rc = nb_challenger_model(engine, model, &info, error);
    if (rc != 0)
        return rc;
    rc = info.is_damaged
             ? nb_error_set(error, NB_DAMAGED, "the challenger is damaged (%s)", info.damage)
             : settings_of(engine, model, &info.settings, &settings, error);
    if (rc == 0) {
        rc = nb_engine_put_model(engine, model, &settings, false, source, &created, error);
        nb_settings_deinit(&settings);
    }
    nb_model_info_deinit(&info);
    return rc != 0 ? rc : nb_challenger_drop(engine, model, source, error);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void visit_some(struct nb_engine *engine, char **names, size_t count,
                       void (*visit)(void *user, const char *model), void *user)
{
    for (size_t i = 0; i < count; i++) {
        struct nb_string name = nb_string_of(names[i]);
        if (!nb_engine_is_challenger(engine, name))
            continue;
        names[i][name.length - (sizeof NB_CHALLENGER_SUFFIX - 1)] = '\0';
        visit(user, names[i]);
        names[i][strlen(names[i])] = NB_CHALLENGER_SUFFIX[0]; /* the page goes on from there */
    }
}

int nb_challengers_visit(struct nb_engine *engine, void (*visit)(void *user, const char *model),
                         void *user, struct nb_error *error)
{
    char after[NB_MODEL_NAME_MOST + 1] = "";
    bool more = true;
    while (more) {
        char **names;
        size_t count;
        int rc = nb_registry_names(engine, nb_string_of(after), NAMES_AT_ONCE, &names, &count,
                                   &more, error);
        if (rc != 0)
            return rc;
        visit_some(engine, names, count, visit, user);
        more = more && count > 0;
        if (count > 0)
            (void)snprintf(after, sizeof after, "%s", names[count - 1]); /* it fits */
        nb_strings_free(names, count);
    }
    return 0;
}
