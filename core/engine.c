/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing, classifying, and what can be asked about models. Changes are in batch.c
 * (trainers' threads), writer.c and group.c (the writer's), administration in administration.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/prequential.h"

enum { SAVE_NANOSECONDS = 1500000000 }; /* for models with little to save, at a stop */

/* ---- open and close -------------------------------------------------------------------------- */

void nb_engine_settings_init(struct nb_engine_settings *settings)
{
    *settings = (struct nb_engine_settings){
        .directory = "var",
        .tokenizer = NB_TOKENIZER_LIMITS_DEFAULT,
        .auto_create = true,
        .keep_words = true,
        .map_size = 0,
        .memory = 0,
        .replay_features = 20000000,
        .group_documents = 1024,
        .labels = 10000,
        .models = 100000,
    };
}

static struct nb_engine *engine_new(const struct nb_engine_settings *settings)
{
    struct nb_engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL)
        return NULL;
    engine->settings = *settings;
    engine->directory = strdup(settings->directory);
    engine->settings.directory = engine->directory;
    engine->prequential = calloc(1, sizeof *engine->prequential);
    engine->purge = true;
    pthread_rwlock_init(&engine->registry, NULL);
    pthread_mutex_init(&engine->queue_lock, NULL);
    pthread_mutex_init(&engine->health_lock, NULL);
    pthread_cond_init(&engine->queue_filled, NULL);
    pthread_cond_init(&engine->task_finished, NULL);
    return engine;
}

/* Loads what fits the memory setting, so that the first requests do not wait. */
static int load_all(struct nb_engine *engine, struct nb_error *error)
{
    uint64_t memory = 0;
    for (size_t i = 0; i < engine->model_count; i++) {
        struct nb_live *live = NULL;
        struct nb_string name = {engine->models[i]->name, strlen(engine->models[i]->name)};
        int rc = nb_registry_acquire(engine, name, false, &live, error);
        if (rc != 0)
            return rc;
        memory += nb_model_memory(live->counts);
        nb_registry_release(engine, &live);
        if (engine->settings.memory != 0 && memory > engine->settings.memory)
            break;
    }
    return 0;
}

int nb_engine_open_reading(const struct nb_engine_settings *settings, struct nb_engine **out,
                           struct nb_error *error)
{
    struct nb_engine *engine = engine_new(settings);
    *out = NULL;
    if (engine == NULL || engine->directory == NULL || engine->prequential == NULL) {
        nb_engine_close(&engine);
        return nb_error_no_memory(error);
    }
    int rc = nb_store_open(engine->directory, settings->map_size, &engine->store, error);
    if (rc == 0)
        rc = nb_load_models(engine, error);
    if (rc == 0)
        *out = engine;
    else
        nb_engine_close(&engine);
    return rc;
}

int nb_engine_open(const struct nb_engine_settings *settings, struct nb_engine **engine,
                   struct nb_error *error)
{
    int rc = nb_engine_open_reading(settings, engine, error);
    if (rc == 0)
        rc = load_all(*engine, error);
    if (rc == 0)
        rc = nb_writer_start(*engine, error);
    if (rc != 0)
        nb_engine_close(engine);
    return rc;
}

/* Saves the models that a start would have to replay at least `least` features of. */
static void save_models(struct nb_engine *engine, uint64_t least, uint64_t until)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < engine->model_count; i++) {
        struct nb_live *live = engine->models[i];
        if (!atomic_load(&live->loaded) || !atomic_load(&live->persisted) ||
            atomic_load(&live->tail) < least)
            continue;
        if (nb_clock_monotonic() > until)
            return;
        rc = nb_checkpoint_all(engine, live, NULL);
    }
}

/* The writer's thread is gone: this one may write now. What does not get written is replayed by the
 * next start. Each model costs the disk a commit: of ten thousand, those go first that the start
 * would feel, and a stop does not take longer for the others than its callers have patience. */
static void save_all(struct nb_engine *engine)
{
    uint64_t until = nb_clock_monotonic() + SAVE_NANOSECONDS;
    save_models(engine, engine->settings.replay_features / 100, UINT64_MAX);
    save_models(engine, 0, until);
}

void nb_engine_close(struct nb_engine **out)
{
    struct nb_engine *engine = *out;
    *out = NULL;
    if (engine == NULL)
        return;
    if (engine->writer_started) {
        nb_writer_stop(engine);
        save_all(engine);
    }
    for (size_t i = 0; i < engine->model_count; i++)
        nb_live_free(engine->models[i]);
    free(engine->models);
    nb_store_close(&engine->store);
    nb_buffer_deinit(&engine->scratch);
    if (engine->prequential != NULL)
        nb_prequential_deinit(engine->prequential);
    free(engine->prequential);
    pthread_cond_destroy(&engine->task_finished);
    pthread_cond_destroy(&engine->queue_filled);
    pthread_mutex_destroy(&engine->health_lock);
    pthread_mutex_destroy(&engine->queue_lock);
    pthread_rwlock_destroy(&engine->registry);
    free(engine->directory);
    free(engine);
}

int nb_engine_ready(struct nb_engine *engine, struct nb_error *error)
{
    pthread_mutex_lock(&engine->health_lock);
    struct nb_error health = engine->health;
    pthread_mutex_unlock(&engine->health_lock);
    return health.code == 0 ? 0 : nb_error_set(error, health.code, "%s", health.text);
}

/* ---- classify -------------------------------------------------------------------------------- */

struct nb_verdict_private {
    struct nb_engine *engine;
    struct nb_live *live; /* holds the labels' names */
    struct nb_bag bag;
    struct nb_scores scores; /* by the book */
    struct nb_stack_inputs inputs;
    struct nb_scores stacked;
    struct nb_evidence *evidence;
    size_t label_room, evidence_room, explanation_room;
};

void nb_verdict_init(struct nb_verdict *verdict)
{
    *verdict = (struct nb_verdict){0};
}

void nb_verdict_deinit(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    if (p != NULL) {
        if (p->live != NULL)
            nb_registry_release(p->engine, &p->live);
        nb_bag_deinit(&p->bag);
        nb_scores_deinit(&p->scores);
        nb_stack_inputs_deinit(&p->inputs);
        nb_scores_deinit(&p->stacked);
        free(p->evidence);
    }
    free(p);
    free(verdict->labels);
    free(verdict->explanation);
    nb_verdict_init(verdict);
}

void nb_verdict_reset(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    if (p != NULL && p->live != NULL)
        nb_registry_release(p->engine, &p->live);
    verdict->size = verdict->explanation_count = 0;
}

static int prepare(struct nb_verdict *verdict, struct nb_engine *engine)
{
    if (verdict->private_ == NULL) {
        verdict->private_ = calloc(1, sizeof *verdict->private_);
        if (verdict->private_ == NULL)
            return NB_NO_MEMORY;
        nb_scores_init(&verdict->private_->scores);
    }
    nb_verdict_reset(verdict);
    verdict->private_->engine = engine;
    return 0;
}

/* Room for `count` elements, contents not kept. */
static int make_room(void **list, size_t *room, size_t count, size_t element)
{
    if (count <= *room)
        return 0;
    void *bigger = realloc(*list, count * element);
    if (bigger == NULL)
        return NB_NO_MEMORY;
    *list = bigger;
    *room = count;
    return 0;
}

static bool is_stacked(const struct nb_published *published)
{
    return published->settings.decision == NB_DECISION_STACKED;
}

static int find_evidence(struct nb_verdict_private *p, const struct nb_published *published,
                         size_t *count)
{
    if (is_stacked(published))
        return nb_stack_explain(published->stack, p->live->counts, published->weights,
                                p->bag.features, p->bag.size, &p->inputs, &p->stacked, p->evidence,
                                count);
    return nb_explain(published->scorer, p->live->counts, p->bag.features, p->bag.size, &p->scores,
                      p->evidence, count);
}

static void sum_fields(struct nb_verdict *verdict, size_t count)
{
    const struct nb_verdict_private *p = verdict->private_;
    memset(verdict->field_evidence, 0, sizeof verdict->field_evidence);
    for (size_t i = 0; i < count; i++) {
        const struct nb_evidence *e = &p->evidence[i];
        if (e->feature != SIZE_MAX)
            verdict->field_evidence[nb_feature_field(p->bag.features[e->feature].id)] +=
                e->evidence;
    }
}

static int explain(struct nb_verdict *verdict, const struct nb_published *published, size_t most)
{
    struct nb_verdict_private *p = verdict->private_;
    void *evidence = p->evidence;
    void *explanation = verdict->explanation;
    size_t count = 0;
    int rc = make_room(&evidence, &p->evidence_room, p->bag.size + 1, sizeof *p->evidence);
    p->evidence = evidence;
    if (rc == 0)
        rc = find_evidence(p, published, &count);
    if (rc == 0)
        nb_evidence_sort(p->evidence, count - 1, most);
    size_t wanted = count < most + 1 ? count : most + 1;
    if (rc == 0)
        rc = make_room(&explanation, &p->explanation_room, wanted, sizeof *verdict->explanation);
    verdict->explanation = explanation;
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < wanted; i++) {
        /* The prior's row is the last of all and stays the last of the chosen. */
        const struct nb_evidence *e = &p->evidence[i + 1 == wanted ? count - 1 : i];
        struct nb_explained *x = &verdict->explanation[i];
        *x = (struct nb_explained){.evidence = e->evidence};
        if (e->feature != SIZE_MAX) {
            x->token = p->bag.texts[e->feature];
            x->field = nb_feature_field(p->bag.features[e->feature].id);
            x->count = p->bag.features[e->feature].count;
        }
    }
    verdict->explanation_count = wanted;
    sum_fields(verdict, count);
    return 0;
}

static int fill_verdict(struct nb_verdict *verdict, bool stacked)
{
    struct nb_verdict_private *p = verdict->private_;
    const struct nb_scores *decisive = stacked ? &p->stacked : &p->scores;
    void *labels = verdict->labels;
    int rc = make_room(&labels, &p->label_room, p->scores.size, sizeof *verdict->labels);
    verdict->labels = labels;
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < p->scores.size; i++)
        verdict->labels[i] = nb_model_label_name(p->live->counts, p->scores.labels[i]).bytes;
    verdict->size = p->scores.size;
    verdict->log_scores = p->scores.log_scores;
    verdict->probabilities = decisive->probabilities;
    verdict->best = decisive->best;
    verdict->calibrated = stacked;
    verdict->total = p->scores.total;
    verdict->known = p->scores.known;
    verdict->truncated = p->bag.truncated;
    return 0;
}

static void leave_room_for_another(struct nb_verdict *verdict)
{
    const struct nb_verdict_private *p = verdict->private_;
    verdict->unseen_label =
        nb_prequential_unseen(p->live->counts, p->scores.labels[0], verdict->probabilities);
    verdict->unseen_probability = 1 - verdict->probabilities[0];
}

/* Whether there is enough training, and if not what is missing. */
static void fill_ready(struct nb_verdict *verdict, uint64_t wanted)
{
    const struct nb_verdict_private *p = verdict->private_;
    const struct nb_scores *s = &p->scores;
    verdict->ready = true;
    for (size_t i = s->size; i > 0; i--) {
        uint64_t documents = nb_model_documents(p->live->counts, s->labels[i - 1]);
        if (documents >= wanted)
            continue;
        verdict->ready = false;
        snprintf(verdict->missing, sizeof verdict->missing, "label '%s' has %llu of %llu documents",
                 verdict->labels[i - 1], (unsigned long long)documents, (unsigned long long)wanted);
    }
    if (s->size >= 2 || wanted == 0)
        return;
    verdict->ready = false;
    snprintf(verdict->missing, sizeof verdict->missing,
             "only the label '%s' has documents, there must be two labels", verdict->labels[0]);
}

static int score_stacked(struct nb_verdict_private *p, const struct nb_published *published)
{
    int rc = nb_stack_inputs(published->stack, p->live->counts, p->bag.features, p->bag.size,
                             &p->inputs, NULL);
    return rc != 0 ? rc : nb_stack_score(published->weights, &p->inputs, &p->stacked);
}

/* The one pass over the counts, under the model's read lock and the weights'. */
static int score(struct nb_verdict *verdict, const struct nb_published *published, size_t most,
                 struct nb_error *error)
{
    struct nb_verdict_private *p = verdict->private_;
    const struct nb_model *counts = p->live->counts;
    nb_model_read_lock(counts);
    nb_stack_weights_read_lock(published->weights);
    int rc = nb_score(published->scorer, counts, p->bag.features, p->bag.size, &p->scores, error);
    if (rc == 0 && is_stacked(published))
        rc = score_stacked(p, published);
    if (rc == 0)
        rc = fill_verdict(verdict, is_stacked(published));
    verdict->unseen_label = NULL;
    if (rc == 0 && is_stacked(published) && verdict->size == 1)
        leave_room_for_another(verdict);
    if (rc == 0)
        fill_ready(verdict, published->settings.ready_documents);
    verdict->unsure_band = published->settings.unsure_band;
    if (rc == 0 && most > 0)
        rc = explain(verdict, published, most);
    nb_stack_weights_unlock(published->weights);
    nb_model_unlock(counts);
    return rc;
}

static int tokenize(struct nb_engine *engine, const struct nb_live *live,
                    const struct nb_published *published, const struct nb_document *document,
                    struct nb_bag *bag)
{
    struct nb_tokenizer_settings settings = {.fields = published->settings.tokenizer_fields};
    return nb_document_tokenize(document, &live->key, &settings, &engine->settings.tokenizer, bag);
}

int nb_engine_classify(struct nb_engine *engine, struct nb_string model,
                       const struct nb_document *document, size_t most, struct nb_verdict *verdict,
                       struct nb_error *error)
{
    if (prepare(verdict, engine) != 0)
        return nb_error_no_memory(error);
    struct nb_verdict_private *p = verdict->private_;
    int rc = nb_registry_acquire(engine, model, false, &p->live, error);
    if (rc != 0)
        return rc;
    struct nb_published *published = nb_live_settings(p->live);
    rc = tokenize(engine, p->live, published, document, &p->bag);
    if (rc == 0)
        rc = score(verdict, published, most, error);
    nb_published_release(&published);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

int nb_engine_tokenize(struct nb_engine *engine, struct nb_string model,
                       const struct nb_document *document, struct nb_bag *bag,
                       struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    struct nb_published *published = nb_live_settings(live);
    rc = tokenize(engine, live, published, document, bag);
    nb_published_release(&published);
    nb_registry_release(engine, &live);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* ---- what is known about a model ------------------------------------------------------------- */

void nb_model_info_deinit(struct nb_model_info *info)
{
    for (size_t i = 0; i < info->label_count; i++)
        free(info->labels[i].label);
    free(info->labels);
    free(info->name);
    nb_settings_deinit(&info->settings);
    *info = (struct nb_model_info){0};
}

static int fill_labels(const struct nb_model *counts, struct nb_model_info *info)
{
    size_t count = nb_model_label_count(counts);
    const uint32_t *sorted = nb_model_labels_sorted(counts);
    info->labels = calloc(count + 1, sizeof *info->labels);
    if (info->labels == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct nb_label_info *label = &info->labels[i];
        label->label = strdup(nb_model_label_name(counts, sorted[i]).bytes);
        if (label->label == NULL)
            return NB_NO_MEMORY;
        label->documents = nb_model_documents(counts, sorted[i]);
        label->tokens = nb_model_occurrences(counts, sorted[i], NB_FIELDS);
        info->label_count++;
    }
    return 0;
}

static int fill_info(struct nb_live *live, struct nb_model_info *info, struct nb_error *error)
{
    *info = (struct nb_model_info){.name = strdup(live->name)};
    struct nb_published *published = nb_live_settings(live);
    int rc = nb_settings_copy(&info->settings, &published->settings);
    nb_published_release(&published);
    nb_model_read_lock(live->counts);
    info->documents = nb_model_documents_all(live->counts);
    info->vocabulary = nb_model_vocabulary(live->counts, NB_FIELDS);
    if (rc == 0)
        rc = fill_labels(live->counts, info);
    nb_model_unlock(live->counts);
    if (rc == 0 && info->name != NULL)
        return 0;
    nb_model_info_deinit(info);
    return nb_error_no_memory(error);
}

int nb_engine_model(struct nb_engine *engine, struct nb_string model, struct nb_model_info *info,
                    struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    rc = fill_info(live, info, error);
    nb_registry_release(engine, &live);
    return rc;
}

/* The names, so that models can be loaded one after the other without the registry's lock. */
static char **copy_names(struct nb_engine *engine, size_t *count)
{
    pthread_rwlock_rdlock(&engine->registry);
    char **names = calloc(engine->model_count + 1, sizeof *names);
    *count = 0;
    for (size_t i = 0; names != NULL && i < engine->model_count; i++)
        if (atomic_load(&engine->models[i]->persisted) &&
            (names[*count] = strdup(engine->models[i]->name)) != NULL)
            ++*count;
    pthread_rwlock_unlock(&engine->registry);
    return names;
}

int nb_engine_models(struct nb_engine *engine, struct nb_model_info **out, size_t *count,
                     struct nb_error *error)
{
    size_t names_count;
    char **names = copy_names(engine, &names_count);
    struct nb_model_info *infos = calloc(names_count + 1, sizeof *infos);
    int rc = names == NULL || infos == NULL ? nb_error_no_memory(error) : 0;
    size_t filled = 0;
    for (size_t i = 0; rc == 0 && i < names_count; i++) {
        struct nb_string name = {names[i], strlen(names[i])};
        rc = nb_engine_model(engine, name, &infos[filled], error);
        filled += rc == 0;
        if (rc == NB_NOT_FOUND)
            rc = 0; /* deleted meanwhile */
    }
    for (size_t i = 0; names != NULL && i < names_count; i++)
        free(names[i]);
    free(names);
    if (rc == 0) {
        *out = infos;
        *count = filled;
        return 0;
    }
    for (size_t i = 0; i < filled; i++)
        nb_model_info_deinit(&infos[i]);
    free(infos);
    return rc;
}

void nb_document_info_deinit(struct nb_document_info *info)
{
    free(info->label);
    *info = (struct nb_document_info){0};
}

static int read_document(const struct nb_view *view, const struct nb_live *live,
                         struct nb_string id, struct nb_document_info *info, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(live->number, id);
    struct nb_string value;
    struct nb_entry entry;
    int rc = nb_store_get(view, NB_TABLE_DOCUMENTS, nb_store_key_string(&key), &value, error);
    if (rc == NB_NOT_FOUND)
        return nb_error_set(error, NB_NOT_FOUND, "model '%s' has no document with the id '%.*s'",
                            live->name, (int)id.length, id.bytes);
    if (rc != 0)
        return rc;
    struct nb_reader r = nb_reader_of(value.bytes, value.length);
    key = nb_store_key_sequence(live->number, nb_read_varint(&r));
    rc = nb_store_get(view, NB_TABLE_LEDGER, nb_store_key_string(&key), &value, error);
    if (rc == NB_NOT_FOUND)
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: a document's ledger entry is missing");
    if (rc == 0)
        rc = nb_entry_read(&entry, value, error);
    if (rc != 0)
        return rc;
    nb_model_read_lock(live->counts);
    bool known = entry.label < nb_model_label_count(live->counts);
    if (known)
        info->label = strdup(nb_model_label_name(live->counts, entry.label).bytes);
    nb_model_unlock(live->counts);
    info->learned = entry.time;
    info->tokens = entry.tokens;
    return info->label == NULL ? nb_error_no_memory(error) : 0;
}

int nb_engine_document(struct nb_engine *engine, struct nb_string model, struct nb_string id,
                       struct nb_document_info *info, struct nb_error *error)
{
    struct nb_live *live;
    struct nb_view view;
    *info = (struct nb_document_info){0};
    int rc = nb_check_id(id, error);
    if (rc == 0)
        rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    rc = nb_store_snapshot(engine->store, &view, error);
    if (rc == 0) {
        rc = read_document(&view, live, id, info, error);
        nb_store_snapshot_end(&view);
    }
    nb_registry_release(engine, &live);
    return rc;
}

/* ---- numbers --------------------------------------------------------------------------------- */

int nb_engine_loaded_models(struct nb_engine *engine, size_t most, char ***out, size_t *count)
{
    size_t filled = 0;
    pthread_rwlock_rdlock(&engine->registry);
    size_t room = engine->model_count < most ? engine->model_count : most;
    char **names = calloc(room + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < engine->model_count && filled < room; i++)
        if (atomic_load(&engine->models[i]->persisted) && atomic_load(&engine->models[i]->loaded) &&
            (names[filled] = strdup(engine->models[i]->name)) != NULL)
            filled++;
    pthread_rwlock_unlock(&engine->registry);
    *out = names;
    *count = filled;
    return names != NULL ? 0 : NB_NO_MEMORY;
}

void nb_engine_statistics(struct nb_engine *engine, struct nb_engine_statistics *s)
{
    *s = (struct nb_engine_statistics){0};
    pthread_rwlock_rdlock(&engine->registry);
    for (size_t i = 0; i < engine->model_count; i++) {
        struct nb_live *live = engine->models[i];
        s->models += atomic_load(&live->persisted);
        if (!atomic_load(&live->loaded))
            continue;
        nb_model_read_lock(live->counts);
        s->models_loaded++;
        s->replay_features += atomic_load(&live->tail);
        s->documents += nb_model_documents_all(live->counts);
        s->vocabulary += nb_model_vocabulary(live->counts, NB_FIELDS);
        s->memory += nb_model_memory(live->counts);
        nb_model_unlock(live->counts);
    }
    pthread_rwlock_unlock(&engine->registry);
    struct nb_counters *c = &engine->counters;
    s->learned = atomic_load(&c->learned);
    s->unchanged = atomic_load(&c->unchanged);
    s->relabelled = atomic_load(&c->relabelled);
    s->updated = atomic_load(&c->updated);
    s->forgotten = atomic_load(&c->forgotten);
    s->failed = atomic_load(&c->failed);
    s->tokens_learned = atomic_load(&c->tokens_learned);
    s->commits = atomic_load(&c->commits);
    s->commit_nanoseconds = atomic_load(&c->commit_nanoseconds);
    s->commit_changes = atomic_load(&c->commit_changes);
    s->commit_failures = atomic_load(&c->commit_failures);
    s->queued = atomic_load(&c->queued);
    nb_store_sizes(engine->store, &s->store_bytes, &s->map_bytes);
}
