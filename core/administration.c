/* SPDX-License-Identifier: Apache-2.0
 *
 * Making, changing and deleting models: tasks of the writer's thread, so that they fall between the
 * changes of documents in the order in which they came.
 */
#include <stdlib.h>
#include <string.h>

#include "core/engine_private.h"

/* ---- put ------------------------------------------------------------------------------------- */

struct put {
    struct nb_string name;
    struct nb_settings settings;
    bool only_new;
    bool created;
    struct nb_live *live; /* existing or made */
};

static int write_put(struct nb_engine *engine, struct nb_view *view, void *argument,
                     struct nb_error *error)
{
    struct put *put = argument;
    return nb_writer_put_model(engine, view, put->live, &put->settings, error);
}

static int check_existing(const struct put *put, struct nb_error *error)
{
    struct nb_live *live = put->live;
    if (atomic_load(&live->persisted) && put->only_new)
        return nb_error_set(error, NB_CONFLICT, "the model '%s' exists", live->name);
    struct nb_published *published = nb_live_settings(live);
    bool same = published->settings.tokenizer_fields == put->settings.tokenizer_fields;
    nb_published_release(&published);
    if (same || nb_model_documents_all(live->counts) == 0)
        return 0;
    return nb_error_set(error, NB_CONFLICT,
                        "the model '%s' has documents: `tokenizer` (also as part of a `preset`) is "
                        "fixed with the first one",
                        live->name);
}

static int make_live(struct nb_engine *engine, struct put *put, struct nb_error *error)
{
    struct nb_key key;
    nb_key_generate(&key);
    uint32_t number = (uint32_t)atomic_fetch_add(&engine->next_number, 1);
    put->live = nb_live_new(put->name, number, &key, &put->settings);
    if (put->live == NULL)
        return nb_error_no_memory(error);
    put->live->counts = nb_model_new();
    atomic_store(&put->live->loaded, put->live->counts != NULL);
    /* The registry's reference and ours: see nb_registry_release for unborn models. */
    atomic_store(&put->live->references, 2);
    int rc = put->live->counts == NULL ? nb_error_no_memory(error)
                                       : nb_registry_insert(engine, put->live, error);
    if (rc != 0) {
        nb_live_free(put->live);
        put->live = NULL;
    }
    return rc;
}

static int put_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct put *put = argument;
    int rc;
    /* A trainer may make a model of the name between the two. */
    do {
        rc = nb_registry_acquire(engine, put->name, true, &put->live, error);
        if (rc == NB_NOT_FOUND)
            rc = make_live(engine, put, error);
        else if (rc == 0)
            rc = check_existing(put, error);
    } while (rc == NB_EXISTS);
    struct nb_published *published =
        rc == 0 ? nb_published_next(&put->settings, put->live->published) : NULL;
    if (rc == 0 && published == NULL)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_writer_transaction(engine, 0, write_put, put, error);
    if (rc == 0) {
        put->created = !atomic_load(&put->live->persisted);
        nb_live_publish(put->live, published);
        atomic_store(&put->live->persisted, true);
        nb_writer_number_stored(engine, put->live);
    } else {
        nb_published_release(&published);
    }
    nb_registry_release(engine, &put->live);
    return rc;
}

int nb_engine_put_model(struct nb_engine *engine, struct nb_string model,
                        const struct nb_settings *settings, bool only_new, bool *created,
                        struct nb_error *error)
{
    struct put put = {.name = model, .only_new = only_new};
    int rc = nb_check_model_name(model, error);
    if (rc == 0)
        rc = nb_settings_check(settings, error);
    if (rc == 0 && nb_settings_copy(&put.settings, settings) != 0)
        rc = nb_error_no_memory(error);
    if (rc != 0)
        return rc;
    put.settings.tokenizer_version = NB_TOKENIZER_VERSION;
    rc = nb_writer_run(engine, put_task, &put, error);
    nb_settings_deinit(&put.settings);
    if (rc == 0)
        *created = put.created;
    return rc;
}

/* ---- delete ---------------------------------------------------------------------------------- */

int nb_writer_put_orphan(const struct nb_view *view, uint32_t number, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(number);
    return nb_store_put(view, NB_TABLE_ORPHANS, nb_store_key_string(&key),
                        (struct nb_string){"", 0}, error);
}

static int write_delete(struct nb_engine *engine, struct nb_view *view, void *argument,
                        struct nb_error *error)
{
    struct nb_live *live = argument;
    struct nb_string name = {live->name, strlen(live->name)};
    (void)engine;
    int rc = nb_store_delete(view, NB_TABLE_MODELS, name, error);
    return rc != 0 ? rc : nb_writer_put_orphan(view, live->number, error);
}

static int delete_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct nb_string *name = argument;
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, *name, false, &live, error);
    if (rc != 0)
        return rc;
    rc = nb_writer_transaction(engine, 0, write_delete, live, error);
    if (rc == 0) {
        nb_registry_remove(engine, live);
        engine->purge = true;
    }
    nb_registry_release(engine, &live);
    return rc;
}

int nb_engine_delete_model(struct nb_engine *engine, struct nb_string model, struct nb_error *error)
{
    return nb_writer_run(engine, delete_task, &model, error);
}
