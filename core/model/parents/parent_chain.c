/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/parents/parent_chain.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/model/learn/stored_score.h"
#include "core/model/parents/parents.h"
#include "core/model/registry/registry.h"

void nb_parent_chain_deinit(struct nb_parent_chain *f)
{
    nb_parent_chain_end(f);
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
    rc = nb_parents_check_pair(child, settings, live, &f->published[f->count - 1]->settings, error);
    return rc == NB_UNUSABLE ? NB_CONFLICT : rc;
}

int nb_parent_chain_begin(struct nb_parent_chain *f, struct nb_engine *engine, struct nb_live *live,
                          struct nb_error *error)
{
    int rc = 0;
    assert(f->count == 0 && atomic_load(&live->loaded));
    f->engine = engine;
    f->live[0] = live;
    f->published[0] = nb_live_settings_refined(live, &f->refined);
    f->count = 1;
    f->contributor_count = 0;
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
    return nb_blend_begin_beside(blend, settings, sources, f->contributor_count, besides);
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
    if (!nb_parents_are_loaded(engine, nb_live_name(live)))
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
