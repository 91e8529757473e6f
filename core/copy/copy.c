/* SPDX-License-Identifier: Apache-2.0 */
#include "core/copy/copy.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/dump/export.h"
#include "core/dump/import.h"

/* How often it begins again because the store had to grow. Each time the map has doubled. */
enum { TIMES_MOST = 8 };

struct copying {
    struct nb_import *import;
    struct nb_dump_totals totals;
    struct nb_error why; /* of the import, which the export does not know */
};

static int put_header(void *user, const struct nb_dump_header *header)
{
    struct copying *c = user;
    return nb_import_header(c->import, header, &c->why);
}

static int put_words(void *user, const struct nb_dump_words *words)
{
    struct copying *c = user;
    return nb_import_words(c->import, words, &c->why);
}

static int put_document(void *user, const struct nb_dump_document *document)
{
    struct copying *c = user;
    return nb_import_document(c->import, document, &c->why);
}

static int put_end(void *user, const struct nb_dump_totals *totals)
{
    struct copying *c = user;
    c->totals = *totals;
    return 0;
}

static int copy_records(struct nb_export *export, struct copying *c, const struct nb_copy *copy,
                        struct nb_error *error)
{
    const struct nb_dump_sink sink = {put_header, put_words, put_document, put_end, c};
    bool is_end = false;
    int rc = 0;
    while (rc == 0 && !is_end) {
        if (copy->stop(copy->user))
            return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
        rc = nb_export_next(export, &sink, &is_end, error);
    }
    if (rc != 0 && c->why.code != 0 && error != NULL)
        *error = c->why;
    return rc != 0 && c->why.code != 0 ? c->why.code : rc;
}

/* Sets *again where another try may succeed. */
static int try_copy(struct nb_engine *engine, const struct nb_copy *copy, bool *again,
                    struct nb_error *error)
{
    struct copying c = {.import = NULL};
    struct nb_export *export;
    bool created;
    uint64_t dropped;
    *again = false;
    int rc = nb_export_begin(engine, copy->from, copy->seconds, &export, error);
    if (rc != 0)
        return rc;
    rc = nb_import_begin(engine, copy->to, copy->source, &c.import, error);
    if (rc == 0)
        rc = copy_records(export, &c, copy, error);
    *again = rc != 0 && nb_export_is_lost(export);
    nb_export_end(&export);
    if (rc != 0) {
        if (c.import != NULL)
            nb_import_abort(&c.import);
        return rc;
    }
    nb_import_only_new(c.import);
    return nb_import_commit(&c.import, &c.totals, &created, &dropped, error);
}

static int check_new(struct nb_engine *engine, struct nb_string name, struct nb_error *error)
{
    struct nb_model_info existing;
    int rc = nb_check_model_name(name, error);
    if (rc != 0 || nb_engine_model(engine, name, &existing, NULL) != 0)
        return rc;
    nb_model_info_deinit(&existing);
    return nb_error_set(error, NB_CONFLICT, "the model '%.*s' exists", (int)name.length,
                        name.bytes);
}

int nb_model_copy(struct nb_engine *engine, const struct nb_copy *copy, struct nb_error *error)
{
    bool again = true;
    int rc = check_new(engine, copy->to, error);
    for (int times = 0; (times == 0 ? rc == 0 : rc != 0) && again && times < TIMES_MOST; times++)
        rc = try_copy(engine, copy, &again, error);
    return rc;
}

/* ---- a prior of less strength ---------------------------------------------------------------- */

/* The settings of a model with a parent; the caller deinits them after success. */
static int settings_below(struct nb_engine *engine, struct nb_string model, const char *parent,
                          uint64_t strength, struct nb_settings *settings, struct nb_error *error)
{
    struct nb_model_info info;
    int rc = nb_engine_model(engine, model, &info, error);
    if (rc != 0)
        return rc;
    if (info.is_damaged)
        rc = nb_error_set(error, NB_DAMAGED, "the model '%s' is damaged (%s)", info.name,
                          info.damage);
    else if (nb_settings_copy(settings, &info.settings) != 0)
        rc = nb_error_no_memory(error);
    nb_model_info_deinit(&info);
    if (rc != 0)
        return rc;
    free(settings->parent);
    settings->parent = strdup(parent);
    settings->parent_strength = strength;
    nb_calibration_free(&settings->fitted);
    rc = settings->parent == NULL ? nb_error_no_memory(error) : nb_settings_check(settings, error);
    if (rc != 0)
        nb_settings_deinit(settings);
    return rc;
}

/* The child of a copy that is there. */
static int put_below(struct nb_engine *engine, const struct nb_copy *copy, const char *prior,
                     uint64_t strength, struct nb_error *error)
{
    struct nb_settings settings;
    bool created;
    int rc = settings_below(engine, nb_string_of(prior), prior, strength, &settings, error);
    if (rc != 0)
        return rc;
    rc = nb_engine_put_model(engine, copy->to, &settings, true, copy->source, &created, error);
    nb_settings_deinit(&settings);
    return rc;
}

/* What would be refused in the end is refused before anything is copied, as far as it is known. */
static int check_below(struct nb_engine *engine, const struct nb_copy *copy, const char *prior,
                       uint64_t strength, struct nb_error *error)
{
    struct nb_settings settings;
    int rc = settings_below(engine, copy->from, prior, strength, &settings, error);
    if (rc == 0)
        nb_settings_deinit(&settings);
    return rc;
}

/* The caller asked for no parent, and for no model of the name `prior`: a refusal of either says
 * where it comes from. */
static void name_prior(const struct nb_copy *copy, const char *prior, struct nb_error *error)
{
    if (error == NULL || (error->code != NB_UNUSABLE && strstr(error->text, prior) == NULL))
        return;
    const struct nb_error why = *error;
    (void)nb_error_set(error, why.code,
                       "%s; with `strength` a copy of '%.*s', named '%s', becomes the parent of "
                       "the new model",
                       why.text, (int)copy->from.length, copy->from.bytes, prior);
}

static int copy_below(struct nb_engine *engine, const struct nb_copy *copy, const char *prior,
                      uint64_t strength, struct nb_error *error)
{
    struct nb_copy frozen = *copy;
    frozen.to = nb_string_of(prior);
    int rc = check_below(engine, copy, prior, strength, error);
    if (rc == 0)
        rc = nb_model_copy(engine, &frozen, error);
    if (rc != 0)
        return rc;
    rc = put_below(engine, copy, prior, strength, error);
    if (rc != 0) /* a failure to delete it leaves a model that is listed */
        (void)nb_engine_delete_model(engine, frozen.to, copy->source, NULL);
    return rc;
}

int nb_model_copy_prior(struct nb_engine *engine, const struct nb_copy *copy, uint64_t strength,
                        struct nb_error *error)
{
    struct nb_buffer prior = {0};
    int rc = check_new(engine, copy->to, error);
    if (rc != 0)
        return rc;
    if (nb_buffer_printf(&prior, "%.*s%s", (int)copy->to.length, copy->to.bytes, NB_PRIOR_SUFFIX) !=
        0)
        return nb_error_no_memory(error);
    rc = copy_below(engine, copy, prior.bytes, strength, error);
    if (rc != 0)
        name_prior(copy, prior.bytes, error);
    nb_buffer_deinit(&prior);
    return rc;
}
