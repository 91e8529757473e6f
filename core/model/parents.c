/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/parents.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/names.h"
#include "core/model/learner.h"
#include "core/model/model_load.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/model/verdict.h"
#include "core/stack/blend.h"

/* ---- children -------------------------------------------------------------------------------- */

static bool is_child_of(const struct nb_live *live, const char *name)
{
    return live->parent != NULL && strcmp(live->parent, name) == 0;
}

/* Finds a child of the model, with a reference for the caller. NULL: the model has none. */
static struct nb_live *find_child(struct nb_engine *engine, const char *name)
{
    struct nb_live *found = NULL;
    if (!atomic_load(&engine->registry.has_parents))
        return NULL;
    pthread_rwlock_rdlock(&engine->registry.lock);
    for (size_t i = 0; found == NULL && i < engine->registry.count; i++)
        found = is_child_of(engine->registry.models[i], name) ? engine->registry.models[i] : NULL;
    if (found != NULL)
        atomic_fetch_add(&found->references, 1);
    pthread_rwlock_unlock(&engine->registry.lock);
    return found;
}

int nb_parents_check_childless(struct nb_engine *engine, const struct nb_live *live,
                               const char *what, struct nb_error *error)
{
    struct nb_live *child = find_child(engine, live->name);
    if (child == NULL)
        return 0;
    (void)nb_error_set(error, NB_CONFLICT,
                       "the model '%s' is the parent of '%s': %s; give that one another parent, or "
                       "none (\"parent\": null), first",
                       live->name, child->name, what);
    nb_registry_release(engine, &child);
    return NB_CONFLICT;
}

void nb_parents_note(struct nb_engine *engine, struct nb_live *live, char **name)
{
    pthread_rwlock_wrlock(&engine->registry.lock);
    char *before = live->parent;
    live->parent = *name;
    *name = before;
    pthread_rwlock_unlock(&engine->registry.lock);
    if (live->parent != NULL)
        atomic_store(&engine->registry.has_parents, true);
}

/* Copies the name of the model's parent. Returns false if it has none. */
static bool parent_of(struct nb_engine *engine, const struct nb_live *live,
                      char name[NB_MODEL_NAME_MOST + 1])
{
    if (!atomic_load(&engine->registry.has_parents))
        return false;
    pthread_rwlock_rdlock(&engine->registry.lock);
    bool has = live->parent != NULL && strlen(live->parent) <= NB_MODEL_NAME_MOST;
    if (has)
        memcpy(name, live->parent, strlen(live->parent) + 1);
    pthread_rwlock_unlock(&engine->registry.lock);
    return has;
}

bool nb_engine_is_loaded(struct nb_engine *engine, struct nb_string name)
{
    char next[NB_MODEL_NAME_MOST + 1];
    bool is_loaded = true;
    bool goes_on = true;
    for (unsigned level = 0; is_loaded && goes_on && level < NB_BLEND_MOST; level++) {
        struct nb_live *live;
        if (nb_registry_find(engine, name, true, &live, NULL) != 0)
            return true;
        is_loaded = atomic_load(&live->loaded) || atomic_load(&live->unusable);
        goes_on = parent_of(engine, live, next);
        nb_registry_release(engine, &live);
        name = nb_string_of(next);
    }
    return is_loaded;
}

/* ---- a pair ---------------------------------------------------------------------------------- */

static int check_formulas(const struct nb_settings *s, struct nb_error *error)
{
    if (s->event_model == NB_EVENT_BERNOULLI)
        return nb_error_set(error, NB_UNUSABLE,
                            "parent: a model with `event_model` \"bernoulli\" cannot have one");
    if (nb_settings_leave_words_out(s))
        return nb_error_set(error, NB_UNUSABLE,
                            "parent: a model with `min_count` above 1 or `skip_top` cannot have "
                            "one");
    return 0;
}

/* A child without documents classifies by its parent's settings, and its first document is scored
 * by a blend of the parent alone. So the parent must use formulas that a blend can compute. */
static int check_parents_formulas(const struct nb_live *parent, const struct nb_settings *s,
                                  struct nb_error *error)
{
    if (s->event_model != NB_EVENT_BERNOULLI && s->predict != NB_PREDICT_INTEGRATE &&
        !nb_settings_leave_words_out(s))
        return 0;
    return nb_error_set(error, NB_CONFLICT,
                        "parent: '%s' cannot be one with `event_model` \"bernoulli\", `predict` "
                        "\"integrate\", `min_count` above 1 or `skip_top`",
                        parent->name);
}

static bool has_cut_numbers(const struct nb_settings *s)
{
    bool has = false;
    for (size_t i = 0; i < s->attribute_count; i++)
        has = has || s->attributes[i].kind == NB_FIELD_KIND_NUMBER;
    return has && s->number != NB_NUMBER_GAUSSIAN;
}

/* Both models must number their fields in the same way, because the ids of values contain these
 * numbers. Numbers in bins cannot have a parent: bins are cut from the numbers of one model, and
 * there are none in which the numbers of both could be counted. */
static int check_fields(const struct nb_live *live, const struct nb_settings *settings,
                        const struct nb_live *parent, const struct nb_settings *parents,
                        struct nb_error *error)
{
    if (settings->attribute_count == 0 && parents->attribute_count == 0)
        return 0;
    if (!nb_settings_keep_attributes(settings, parents) ||
        !nb_settings_keep_attributes(parents, settings))
        return nb_error_set(error, NB_CONFLICT,
                            "parent: '%s' and '%s' must have the same `fields`, in the same order",
                            live->name, parent->name);
    bool is_stacked =
        settings->decision == NB_DECISION_STACKED || parents->decision == NB_DECISION_STACKED;
    if (is_stacked && (has_cut_numbers(settings) || has_cut_numbers(parents)))
        return nb_error_set(error, NB_CONFLICT,
                            "parent: with fields of numbers '%s' and '%s' must have \"number\": "
                            "\"gaussian\" where one of them is stacked, since bins are of one "
                            "model's numbers",
                            live->name, parent->name);
    if (!nb_smoothing_is_of_parent(&settings->smoothing_by) && has_cut_numbers(settings))
        return nb_error_set(error, NB_CONFLICT,
                            "parent: a model with fields of numbers can have one with \"number\": "
                            "\"gaussian\", or with the smoothing {\"m\": ..., \"p\": \"parent\"}");
    if (settings->structure != NB_STRUCTURE_NAIVE || parents->structure != NB_STRUCTURE_NAIVE)
        return nb_error_set(error, NB_CONFLICT,
                            "parent: with `fields` neither '%s' nor '%s' may have the structure "
                            "\"tan\", whose tree is of one model's documents: use \"naive\"",
                            live->name, parent->name);
    return 0;
}

/* The part of nb_parents_check that reads only settings and keys. Any thread. NB_UNUSABLE,
 * NB_CONFLICT. */
static int parents_check_pair(const struct nb_live *live, const struct nb_settings *settings,
                              const struct nb_live *parent, const struct nb_settings *parents,
                              struct nb_error *error)
{
    if (parents->is_challenger)
        return nb_error_set(error, NB_CONFLICT,
                            "parent: '%s' is a challenger, which goes when it is dropped or "
                            "promoted: name its model",
                            parent->name);
    if (nb_settings_are_several(parents))
        return nb_error_set(error, NB_UNUSABLE, "parent: the documents of '%s' have several labels",
                            parent->name);
    int rc = check_formulas(settings, error);
    if (rc == 0)
        rc = check_parents_formulas(parent, parents, error);
    if (rc != 0)
        return rc;
    if (memcmp(live->key->bytes, parent->key->bytes, NB_KEY_BYTES) != 0)
        return nb_error_set(error, NB_CONFLICT,
                            "parent: '%s' and '%s' have features under different keys, because one "
                            "of them was imported without texts",
                            live->name, parent->name);
    if (settings->tokenizer_fields != parents->tokenizer_fields ||
        settings->tokenizer_version != parents->tokenizer_version)
        return nb_error_set(error, NB_CONFLICT,
                            "parent: '%s' counts other fields than '%s' (`preset`, `tokenizer`)",
                            parent->name, live->name);
    rc = check_fields(live, settings, parent, parents, error);
    if (rc != 0)
        return rc;
    if (settings->max_term_count != parents->max_term_count)
        return nb_error_set(error, NB_CONFLICT,
                            "parent: '%s' has another `max_term_count` than '%s'", parent->name,
                            live->name);
    return 0;
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* Sets *missing to a label that has documents in `live` and that the parent does not have. */
static bool lacks_label(const struct nb_live *live, const struct nb_live *parent,
                        struct nb_string *missing)
{
    for (uint32_t v = 0; v < nb_model_label_count(live->counts); v++) {
        *missing = nb_model_label_name(live->counts, v);
        if (nb_model_documents(live->counts, v) > 0 &&
            nb_model_find_label(parent->counts, *missing) == UINT32_MAX)
            return true;
    }
    return false;
}

int nb_parents_check_labels(struct nb_engine *engine, struct nb_live *live, const char *name,
                            struct nb_error *error)
{
    struct nb_live *parent;
    struct nb_string missing;
    if (live->parent != NULL && strcmp(live->parent, name) == 0) /* only the writer changes it */
        return 0;
    int rc = nb_registry_find(engine, nb_string_of(name), true, &parent, error);
    if (rc != 0)
        return rc;
    if (nb_model_documents_all(parent->counts) > 0 && lacks_label(live, parent, &missing))
        rc = nb_error_set(error, NB_CONFLICT,
                          "parent: '%s' has no label '%s', of which '%s' has documents",
                          parent->name, missing.bytes, live->name);
    nb_registry_release(engine, &parent);
    return rc;
}

static int load_both(struct nb_engine *engine, struct nb_live *live, struct nb_live *parent,
                     struct nb_error *error)
{
    int rc = nb_registry_load(engine, parent, error);
    return rc == 0 && !atomic_load(&live->loaded) ? nb_registry_load(engine, live, error) : rc;
}

/* ---- levels ---------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Fills `names`, which has room for all models, with the names of the model's children, in order.
 */
static size_t list_children(const struct nb_engine *engine, const char *name, const char **names)
{
    size_t count = 0;
    for (size_t i = 0; i < engine->registry.count; i++) /* the registry is sorted by name */
        if (is_child_of(engine->registry.models[i], name))
            names[count++] = engine->registry.models[i]->name;
    return count;
}

/* Returns the number of levels below the model: 2 if a child is itself a parent. If memory runs
 * out, returns the most that there may be. */
static unsigned levels_below(struct nb_engine *engine, const char *name)
{
    unsigned levels = 0;
    if (!atomic_load(&engine->registry.has_parents))
        return 0;
    pthread_rwlock_rdlock(&engine->registry.lock);
    const char **children = malloc((engine->registry.count + 1) * sizeof *children);
    size_t count = children != NULL ? list_children(engine, name, children) : 0;
    levels = children == NULL ? NB_BLEND_MOST : count > 0 ? 1 : 0;
    for (size_t i = 0; count > 0 && levels < 2 && i < engine->registry.count; i++) {
        const char *parent = engine->registry.models[i]->parent;
        if (parent != NULL && bsearch(&parent, children, count, sizeof *children, by_name) != NULL)
            levels = 2;
    }
    pthread_rwlock_unlock(&engine->registry.lock);
    free(children);
    return levels;
}

static int check_levels(struct nb_engine *engine, const struct nb_live *live,
                        struct nb_live *parent, struct nb_error *error)
{
    char next[NB_MODEL_NAME_MOST + 1];
    struct nb_live *at = parent;
    unsigned above = 1;
    atomic_fetch_add(&at->references, 1);
    bool is_circle = strcmp(parent->name, live->name) == 0;
    while (!is_circle && above < NB_BLEND_MOST && parent_of(engine, at, next)) {
        nb_registry_release(engine, &at);
        is_circle = strcmp(next, live->name) == 0;
        if (nb_registry_find(engine, nb_string_of(next), false, &at, NULL) != 0)
            break;
        above++;
    }
    nb_registry_release(engine, &at);
    if (is_circle)
        return nb_error_set(error, NB_UNUSABLE,
                            "parent: '%s' is the model '%s' itself, or has it as its parent",
                            parent->name, live->name);
    if (above + 1 + levels_below(engine, live->name) > NB_BLEND_MOST)
        return nb_error_set(error, NB_UNUSABLE,
                            "parent: with '%s' above '%s' there would be more than %d levels",
                            parent->name, live->name, NB_BLEND_MOST);
    return 0;
}

/* ---- nodes that share changes ---------------------------------------------------------------- */

/* A model and its parent must be in the same stream: then all nodes decide in the same order which
 * models may be parents, and which may be deleted. */
static int check_stream(const struct nb_engine *engine, const struct nb_live *live,
                        const char *parent, struct nb_error *error)
{
    unsigned streams = engine->settings.shared ? engine->settings.streams : 1;
    unsigned one = nb_relay_stream(nb_live_name(live), streams);
    unsigned other = nb_relay_stream(nb_string_of(parent), streams);
    if (one == other)
        return 0;
    return nb_error_set(error, NB_CONFLICT,
                        "parent: '%s' is in stream %u and '%s' in stream %u, as "
                        "their names decide: both must be in one, so take another name for it",
                        parent, other, live->name, one);
}

/* ---- the whole check ------------------------------------------------------------------------- */

static int check_parent(struct nb_engine *engine, struct nb_live *live,
                        const struct nb_settings *settings, struct nb_error *error)
{
    struct nb_live *parent;
    struct nb_settings parents;
    int rc = nb_registry_find(engine, nb_string_of(settings->parent), false, &parent, NULL);
    if (rc != 0)
        return nb_error_about(
            error,
            nb_error_set(error, NB_UNUSABLE, "parent: there is no model '%s'", settings->parent),
            NULL, "parent");
    rc = check_levels(engine, live, parent, error);
    if (rc == 0)
        rc = nb_load_settings(engine, parent, &parents, error);
    if (rc == 0) {
        rc = parents_check_pair(live, settings, parent, &parents, error);
        nb_settings_deinit(&parents);
    }
    if (rc == 0)
        rc = load_both(engine, live, parent, error);
    nb_registry_release(engine, &parent);
    return rc;
}

/* All children count the same things as the model, so checking one of them suffices. */
static int check_children(struct nb_engine *engine, struct nb_live *live,
                          const struct nb_settings *settings, struct nb_error *error)
{
    struct nb_live *child = find_child(engine, live->name);
    struct nb_settings childs;
    if (child == NULL)
        return 0;
    int rc = nb_load_settings(engine, child, &childs, error);
    if (rc == 0) {
        rc = parents_check_pair(child, &childs, live, settings, error);
        nb_settings_deinit(&childs);
    }
    nb_registry_release(engine, &child);
    return rc;
}

int nb_parents_check(struct nb_engine *engine, struct nb_live *live,
                     const struct nb_settings *settings, struct nb_error *error)
{
    int rc = settings->parent == NULL ? 0 : check_stream(engine, live, settings->parent, error);
    if (rc == 0)
        rc = check_children(engine, live, settings, error);
    return rc == 0 && settings->parent != NULL ? check_parent(engine, live, settings, error) : rc;
}

void nb_parent_chain_deinit(struct nb_parent_chain *f)
{
    nb_parent_chain_end(f);
    if (f->blend.count > 0) /* without a parent it was not made */
        nb_blend_deinit(&f->blend);
    free(f->features);
    *f = (struct nb_parent_chain){0};
}

/* ---- members --------------------------------------------------------------------------------- */

static int add_parent(struct nb_parent_chain *f, struct nb_error *error)
{
    const struct nb_live *child = f->live[f->count - 1];
    const struct nb_settings *settings = &f->published[f->count - 1]->settings;
    struct nb_error why = {0};
    struct nb_live *live;
    int rc = nb_registry_acquire(f->engine, nb_string_of(settings->parent), false, &live, &why);
    if (rc == NB_NOT_FOUND)
        return nb_error_set(error, NB_CONFLICT, "the parent '%s' of the model '%s' is gone",
                            settings->parent, child->name);
    if (rc != 0)
        return nb_error_set(error, rc, "the parent of the model '%s': %s", child->name, why.text);
    f->live[f->count] = live;
    f->published[f->count++] = nb_live_settings(live);
    rc = parents_check_pair(child, settings, live, &f->published[f->count - 1]->settings, error);
    return rc == NB_UNUSABLE ? NB_CONFLICT : rc;
}

int nb_parent_chain_begin(struct nb_parent_chain *f, struct nb_engine *engine, struct nb_live *live,
                          struct nb_error *error)
{
    int rc = 0;
    assert(f->count == 0 && f->contributor_count == 0 && atomic_load(&live->loaded));
    f->engine = engine;
    f->live[0] = live;
    f->published[0] = nb_live_settings_refined(live, &f->refined);
    f->count = 1;
    while (rc == 0 && f->count < NB_BLEND_MOST &&
           f->published[f->count - 1]->settings.parent != NULL)
        rc = add_parent(f, error);
    if (rc != 0)
        nb_parent_chain_end(f);
    return rc;
}

void nb_parent_chain_end(struct nb_parent_chain *f)
{
    for (unsigned i = 0; i < f->count; i++) {
        nb_published_release(&f->published[i]);
        if (i > 0)
            nb_registry_release(f->engine, &f->live[i]);
    }
    nb_refined_release(&f->refined);
    f->count = f->contributor_count = 0;
}

/* ---- joint scores ---------------------------------------------------------------------------- */

void nb_parent_chain_lock(struct nb_parent_chain *f)
{
    assert(f->count > 0);
    f->contributor_count = 0;
    for (unsigned i = 0; i < f->count; i++)
        nb_model_read_lock(f->live[i]->counts);
    for (unsigned i = 0; i < f->count; i++) {
        nb_stack_weights_read_lock(f->published[i]->weights);
        if (nb_model_documents_all(f->live[i]->counts) > 0)
            f->contributors[f->contributor_count++] = i;
    }
}

void nb_parent_chain_unlock(struct nb_parent_chain *f)
{
    for (unsigned i = f->count; i-- > 0;)
        nb_stack_weights_unlock(f->published[i]->weights);
    for (unsigned i = f->count; i-- > 0;)
        nb_model_unlock(f->live[i]->counts);
}

/* Lists the contributors as sources of a blend. Returns the settings of the first, which apply. */
static const struct nb_settings *list_sources(const struct nb_parent_chain *f,
                                              struct nb_blend_source sources[NB_BLEND_MOST])
{
    const struct nb_published *first = f->published[f->contributors[0]];
    assert(f->contributor_count > 0);
    for (unsigned i = 0; i < f->contributor_count; i++) {
        const struct nb_published *published = f->published[f->contributors[i]];
        sources[i] = (struct nb_blend_source){
            .counts = f->live[f->contributors[i]]->counts,
            .weights = nb_published_is_stacked(first) ? published->weights : NULL,
            .strength = published->settings.parent_strength};
    }
    return &first->settings;
}

const struct nb_refined *nb_parent_chain_refined(const struct nb_parent_chain *f)
{
    bool speaks = f->contributor_count > 0 && f->contributors[0] == 0;
    return speaks && f->refined != NULL && f->refined->expected != NULL ? f->refined : NULL;
}

int nb_parent_chain_blend_beside(const struct nb_parent_chain *f,
                                 const struct nb_stack_weights *weights,
                                 const struct nb_besides *besides, struct nb_blend *blend)
{
    struct nb_blend_source sources[NB_BLEND_MOST];
    const struct nb_settings *settings = list_sources(f, sources);
    if (weights != NULL)
        sources[0].weights = weights;
    return nb_blend_begin(blend, settings, sources, f->contributor_count, besides);
}

int nb_parent_chain_blend(struct nb_parent_chain *f)
{
    const struct nb_refined *refined = nb_parent_chain_refined(f);
    struct nb_besides besides = {.count = 0};
    if (refined != NULL)
        besides = (struct nb_besides){.list = {{refined->expected, refined->weight}}, .count = 1};
    return nb_parent_chain_blend_beside(f, NULL, &besides, &f->blend);
}

bool nb_parent_chain_is_calibrated(const struct nb_parent_chain *f)
{
    for (unsigned i = 0; i < f->contributor_count; i++)
        if (atomic_load(&f->live[f->contributors[i]]->is_stale))
            return false;
    return true;
}

/* ---- scores that are kept -------------------------------------------------------------------- */

/* Changes the labels of the scores to the model's own numbers. Returns whether the model has all of
 * them. */
static bool number_labels(const struct nb_parent_chain *f, struct nb_scores *scores)
{
    for (size_t v = 0; v < scores->size; v++) {
        uint32_t own = f->blend.labels[scores->labels[v]].numbers[0];
        if (f->contributors[0] != 0)
            own = nb_model_find_label(f->live[0]->counts,
                                      nb_string_of(f->blend.labels[scores->labels[v]].name));
        if (own == NB_BLEND_NO_LABEL)
            return false;
        scores->labels[v] = own;
    }
    return true;
}

/* Moderates scores whose labels still have the numbers of the blend. */
static void moderate(const struct nb_parent_chain *f, struct nb_scores *scores)
{
    for (size_t v = 0; v < scores->size; v++)
        scores->documents[v] = f->blend.labels[scores->labels[v]].documents;
    (void)nb_scores_moderate(scores);
}

/* Under the locks. Documents without a label do not contribute to stored scores. */
static int keep(struct nb_parent_chain *f, const struct nb_feature *features, size_t size,
                uint32_t label, struct nb_buffer *record)
{
    struct nb_scores book = {0}, stacked = {0};
    const struct nb_besides none = {.count = 0};
    int rc = nb_parent_chain_blend_beside(f, NULL, &none, &f->blend);
    if (rc == 0)
        rc =
            nb_blend_score(&f->blend, features, size, &book, f->blend.is_stacked ? &stacked : NULL);
    if (rc == 0 && f->blend.is_stacked)
        moderate(f, &stacked);
    struct nb_scores *scores = f->blend.is_stacked ? &stacked : &book;
    if (rc == 0 && number_labels(f, scores)) {
        record->length = 0;
        rc = nb_stored_score_keep(scores, label, record);
    }
    nb_scores_deinit(&book);
    nb_scores_deinit(&stacked);
    return rc;
}

int nb_parent_chain_keep_score(struct nb_parent_chain *f, struct nb_engine *engine,
                               struct nb_live *live, const struct nb_feature *features, size_t size,
                               uint32_t label, struct nb_buffer *record)
{
    int rc = nb_parent_chain_begin(f, engine, live, NULL);
    if (rc != 0)
        return rc == NB_NO_MEMORY ? rc : 0;
    nb_parent_chain_lock(f);
    bool has_ancestor = f->contributor_count > 0 && f->contributors[f->contributor_count - 1] > 0;
    rc = has_ancestor ? keep(f, features, size, label, record) : 0;
    nb_parent_chain_unlock(f);
    nb_parent_chain_end(f);
    return rc;
}

static int take_features(struct nb_parent_chain *f, const struct nb_model *counts,
                         const struct nb_rows *rows)
{
    if (nb_array_reserve(&f->features, &f->feature_room, rows->size, sizeof *f->features) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < rows->size; i++)
        f->features[i] = (struct nb_feature){.id = nb_model_row_id(counts, rows->counts[i].row),
                                             .count = rows->counts[i].count};
    return 0;
}

int nb_parent_chain_keep_score_of_rows(struct nb_parent_chain *f, struct nb_engine *engine,
                                       struct nb_live *live, const struct nb_rows *rows,
                                       uint32_t label, struct nb_buffer *record)
{
    if (!nb_engine_is_loaded(engine, nb_live_name(live)))
        return 0;
    if (take_features(f, live->counts, rows) != 0)
        return NB_NO_MEMORY;
    return nb_parent_chain_keep_score(f, engine, live, f->features, rows->size, label, record);
}

/* ---- leave-one-out --------------------------------------------------------------------------- */

int nb_parent_chain_score_left_out(struct nb_parent_chain *f, const struct nb_rows *rows,
                                   uint32_t label, const struct nb_stack_weights *weights,
                                   struct nb_scores *scores)
{
    struct nb_blend_source sources[NB_BLEND_MOST];
    struct nb_scores all = {0};
    if (f->contributor_count < 2 || f->contributors[0] != 0)
        return 0;
    const struct nb_settings *settings = list_sources(f, sources);
    sources[0].weights = weights;
    int rc = take_features(f, f->live[0]->counts, rows);
    if (rc == 0)
        rc = nb_blend_begin_without(&f->blend, settings, sources, f->contributor_count, f->features,
                                    rows->size, label);
    if (rc == 0)
        rc = nb_blend_score(&f->blend, f->features, rows->size, NULL, &all);
    if (rc == 0)
        moderate(f, &all);
    if (rc == 0 && number_labels(f, &all)) {
        struct nb_scores own = *scores;
        *scores = all;
        all = own;
    }
    nb_scores_deinit(&all);
    return rc;
}
