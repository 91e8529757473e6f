/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/names.h"
#include "core/base/string.h"
#include "core/counts/pairs.h"
#include "core/ledger/change.h"
#include "core/ledger/document_lists.h"
#include "core/ledger/record.h"
#include "core/model/drift.h"

/* ---- settings as published ------------------------------------------------------------------- */

void nb_stack_settings_of(const struct nb_settings *settings, struct nb_stack_settings *stack)
{
    nb_stack_settings_init(stack);
    stack->two.experts[0].smoothing = settings->sharp_smoothing;
    stack->two.experts[0].power = settings->sharp_power;
    stack->two.experts[1].smoothing = settings->robust_smoothing;
    stack->two.experts[1].power = settings->robust_power;
    stack->many.experts[0].smoothing = settings->many_smoothing;
    stack->many.experts[0].power = settings->many_power;
    stack->length = settings->length_power;
    stack->scale = settings->evidence_scale;
    stack->rate = settings->learning_rate;
    stack->mixing = settings->expert_mixing;
    stack->memory = settings->expert_memory;
    stack->twin = settings->twin;
}

struct nb_published *nb_published_new(const struct nb_settings *settings, const struct nb_key *key)
{
    struct nb_published *published = calloc(1, sizeof *published);
    if (published == NULL)
        return NULL;
    struct nb_stack_settings stack;
    nb_stack_settings_of(settings, &stack);
    atomic_init(&published->references, 1);
    published->weights = nb_stack_weights_new(&stack);
    if (published->weights == NULL || nb_settings_copy(&published->settings, settings) != 0 ||
        nb_smoothing_hash(&published->settings.smoothing_by, nb_settings_attributes(settings),
                          key) != 0 ||
        nb_scorer_new(&published->settings, &published->scorer) != 0 ||
        nb_stack_new(&stack, &published->stack) != 0)
        nb_published_release(&published);
    if (published != NULL)
        nb_stack_cut_numbers(published->stack, &published->settings);
    if (published != NULL && nb_published_is_several(published) &&
        nb_multilabel_new(settings->decision == NB_DECISION_BAYES, settings->smoothing,
                          &published->multilabel) != 0)
        nb_published_release(&published);
    if (published != NULL && nb_wishes_new(&published->settings, &published->wishes) != 0)
        nb_published_release(&published);
    return published;
}

struct nb_published *nb_published_next(const struct nb_settings *settings, const struct nb_key *key,
                                       const struct nb_published *old)
{
    struct nb_published *published = nb_published_new(settings, key);
    struct nb_buffer learned = {0};
    struct nb_packer w = {.out = &learned};
    if (published == NULL)
        return NULL;
    nb_stack_weights_write(old->weights, &w);
    struct nb_unpacker r = nb_unpacker_of(learned.bytes, learned.length);
    if (w.code != 0 || nb_stack_weights_read(published->weights, &r) != 0)
        nb_published_release(&published);
    nb_buffer_deinit(&learned);
    return published;
}

void nb_published_release(struct nb_published **published)
{
    struct nb_published *p = *published;
    *published = NULL;
    if (p == NULL || atomic_fetch_sub(&p->references, 1) != 1)
        return;
    nb_scorer_free(&p->scorer);
    nb_stack_free(&p->stack);
    nb_multilabel_free(&p->multilabel);
    nb_wishes_free(&p->wishes);
    nb_stack_weights_free(&p->weights);
    nb_settings_deinit(&p->settings);
    free(p);
}

/* Under the model's lock. */
static struct nb_published *settings_of(struct nb_live *live)
{
    struct nb_published *published = live->published;
    assert(published != NULL);
    atomic_fetch_add(&published->references, 1);
    return published;
}

struct nb_published *nb_live_settings(struct nb_live *live)
{
    pthread_mutex_lock(&live->lock);
    struct nb_published *published = settings_of(live);
    pthread_mutex_unlock(&live->lock);
    return published;
}

/* ---- documents without a label --------------------------------------------------------------- */

static struct nb_refined *refined_use(struct nb_refined *refined)
{
    atomic_fetch_add(&refined->references, 1);
    return refined;
}

void nb_refined_release(struct nb_refined **refined)
{
    struct nb_refined *r = *refined;
    *refined = NULL;
    if (r == NULL || atomic_fetch_sub(&r->references, 1) != 1)
        return;
    nb_scorer_free(&r->scorer);
    nb_expected_release(&r->expected);
    nb_multilabel_fit_release(&r->several);
    free(r);
}

int nb_refined_make_scorer(struct nb_refined *refined, const struct nb_settings *settings)
{
    const struct nb_besides besides = {.list = {{refined->expected, refined->weight}}, .count = 1};
    assert(refined->expected != NULL && refined->scorer == NULL);
    return nb_scorer_new_beside(settings, &besides, &refined->scorer);
}

/* Bytes of the counts and of the scorer; 0 for NULL. */
static size_t refined_memory(const struct nb_refined *refined)
{
    if (refined != NULL && refined->several != NULL)
        return refined->several->bytes;
    if (refined == NULL || refined->expected == NULL)
        return 0;
    return nb_expected_memory(refined->expected) +
           (refined->scorer != NULL ? nb_scorer_memory(refined->scorer) : 0);
}

/* Under the model's lock. Returns the old one. */
static struct nb_refined *exchange_refined(struct nb_live *live, struct nb_refined *refined)
{
    struct nb_refined *old = live->em.refined;
    live->em.refined = refined;
    atomic_store(&live->em.is_refined, refined != NULL);
    atomic_store(&live->em.bytes, refined_memory(refined));
    return old;
}

static void publish(struct nb_live *live, struct nb_published *published, bool others)
{
    struct nb_refined *refined = NULL;
    assert(published != NULL);
    pthread_mutex_lock(&live->lock);
    struct nb_published *old = live->published;
    published->edition = old == NULL ? 0 : old->edition + others;
    live->published = published;
    if (others)
        refined = exchange_refined(live, NULL);
    pthread_mutex_unlock(&live->lock);
    nb_refined_release(&refined);
    nb_published_release(&old);
}

void nb_live_publish(struct nb_live *live, struct nb_published *published)
{
    publish(live, published, false);
}

void nb_live_publish_others(struct nb_live *live, struct nb_published *published)
{
    publish(live, published, true);
}

struct nb_published *nb_live_settings_refined(struct nb_live *live, struct nb_refined **refined)
{
    pthread_mutex_lock(&live->lock);
    struct nb_published *published = settings_of(live);
    *refined = live->em.refined != NULL ? refined_use(live->em.refined) : NULL;
    pthread_mutex_unlock(&live->lock);
    return published;
}

struct nb_refined *nb_live_refined(struct nb_live *live)
{
    if (!atomic_load(&live->em.is_refined))
        return NULL;
    pthread_mutex_lock(&live->lock);
    struct nb_refined *refined = live->em.refined;
    if (refined != NULL)
        (void)refined_use(refined);
    pthread_mutex_unlock(&live->lock);
    return refined;
}

void nb_live_drop_refined(struct nb_live *live)
{
    pthread_mutex_lock(&live->lock);
    struct nb_refined *old = exchange_refined(live, NULL);
    pthread_mutex_unlock(&live->lock);
    nb_refined_release(&old);
}

bool nb_live_refine(struct nb_live *live, const struct nb_published *published,
                    struct nb_refined *refined)
{
    pthread_mutex_lock(&live->lock);
    bool fits = live->published != NULL && live->published->edition == published->edition;
    struct nb_refined *old = fits ? exchange_refined(live, refined) : NULL;
    pthread_mutex_unlock(&live->lock);
    nb_refined_release(&old);
    return fits;
}

/* ---- models ---------------------------------------------------------------------------------- */

static int take_key(struct nb_live *live, const struct nb_own_key *own,
                    const struct nb_key *store_key)
{
    assert(store_key != NULL);
    live->key = live->id_key = store_key;
    if (own == NULL || !own->present)
        return 0;
    live->own = malloc(sizeof *live->own);
    live->own_key = malloc(sizeof *live->own_key);
    if (live->own == NULL || live->own_key == NULL)
        return NB_NO_MEMORY;
    *live->own = *own;
    nb_key_restore(live->own_key, own->bytes);
    live->id_key = live->own_key;
    if (own->hashes_features)
        live->key = live->own_key;
    return 0;
}

int nb_live_write_key(const struct nb_live *live, struct nb_buffer *out)
{
    return live->own == NULL ? 0 : nb_own_key_write(live->own, out);
}

struct nb_live *nb_live_new(struct nb_string name, uint32_t number, const struct nb_own_key *own,
                            const struct nb_key *store_key)
{
    struct nb_live *live = calloc(1, sizeof *live);
    if (live == NULL)
        return NULL;
    atomic_init(&live->references, 1);
    pthread_mutex_init(&live->loading, NULL);
    pthread_mutex_init(&live->lock, NULL);
    live->number = number;
    live->checkpoint.replay = 1;
    live->name = malloc(name.length + 1);
    if (live->name == NULL || take_key(live, own, store_key) != 0) {
        nb_live_free(live);
        return NULL;
    }
    memcpy(live->name, name.bytes, name.length);
    live->name[name.length] = '\0';
    return live;
}

/* Makes the empty table of pairs that the setting `structure` needs. */
static int begin_pairs(struct nb_model *counts, const struct nb_settings *settings)
{
    if (settings->structure == NB_STRUCTURE_NAIVE)
        return 0;
    struct nb_pairs *pairs =
        nb_pairs_new(nb_settings_attributes(settings), settings->number != NB_NUMBER_GAUSSIAN);
    if (pairs == NULL)
        return NB_NO_MEMORY;
    nb_model_put_pairs(counts, &pairs);
    return 0;
}

int nb_live_begin(struct nb_live *live, const struct nb_settings *settings)
{
    assert(live->counts == NULL && live->published == NULL);
    live->published = nb_published_new(settings, live->key);
    live->counts = nb_model_new();
    if (live->published == NULL || live->counts == NULL || begin_pairs(live->counts, settings) != 0)
        return NB_NO_MEMORY;
    atomic_store(&live->loaded, true);
    return 0;
}

void nb_live_free(struct nb_live *live)
{
    assert(!live->unsaved.is_listed);
    nb_published_release(&live->published);
    nb_refined_release(&live->em.refined);
    nb_model_free(&live->counts);
    nb_near_duplicate_list_free(&live->near_duplicate_list);
    nb_current_entries_free(&live->current);
    struct nb_drift *drift = atomic_load(&live->drift);
    nb_drift_free(&drift);
    nb_stack_fit_free(&live->fit);
    free(live->pass);
    free(live->checkpoint.dirty);
    pthread_mutex_destroy(&live->loading);
    pthread_mutex_destroy(&live->lock);
    free(live->unused.rows);
    free(live->damage);
    free(live->own);
    free(live->own_key);
    free(live->parent);
    free(live->name);
    free(live);
}

size_t nb_live_memory(struct nb_live *live)
{
    if (!atomic_load(&live->loaded))
        return 0;
    struct nb_published *p = nb_live_settings(live);
    /* The checkpoint belongs to the writer, so its byte per range is computed from the rows. */
    size_t bytes = nb_model_memory(live->counts) + nb_scorer_memory(p->scorer) +
                   nb_stack_memory(p->stack) + nb_stack_weights_memory(p->weights) +
                   nb_ranges_of(nb_model_rows(live->counts)) + atomic_load(&live->writers_bytes) +
                   atomic_load(&live->em.bytes);
    if (p->multilabel != NULL)
        bytes += nb_multilabel_memory(p->multilabel);
    nb_published_release(&p);
    return bytes;
}

void nb_live_note_memory(struct nb_live *live)
{
    size_t pass = live->pass == NULL
                      ? 0
                      : sizeof *live->pass + live->pass->size * sizeof *live->pass->numbers;
    atomic_store(&live->writers_bytes, nb_near_duplicate_list_memory(live->near_duplicate_list) +
                                           nb_current_entries_memory(live->current) +
                                           nb_stack_fit_memory(live->fit) + pass);
}

/* ---- damage ---------------------------------------------------------------------------------- */

void nb_live_set_damaged(struct nb_live *live, const struct nb_error *why)
{
    pthread_mutex_lock(&live->lock);
    if (atomic_load(&live->unusable) != NB_LIVE_DAMAGED) {
        live->damage = strdup(why->text);
        atomic_store(&live->unusable, NB_LIVE_DAMAGED);
    }
    pthread_mutex_unlock(&live->lock);
}

int nb_live_check(struct nb_live *live, struct nb_error *error)
{
    int why = atomic_load(&live->unusable);
    if (why == NB_LIVE_USABLE)
        return 0;
    if (why == NB_LIVE_UPGRADING)
        return nb_error_about(
            error,
            nb_error_set(error, NB_DAMAGED,
                         "the model '%s' was stored by an older version, and its counts are being "
                         "computed anew from its documents: try again later; /readyz shows how far "
                         "that is",
                         live->name),
            "model_upgrading", NULL);
    return nb_error_set(error, NB_DAMAGED,
                        "the model '%s' is damaged (%s): delete it, or import a copy over it; "
                        "`bayesd --verify` lists the damage",
                        live->name, live->damage == NULL ? "out of memory" : live->damage);
}

int nb_live_note(struct nb_live *live, int rc, const struct nb_error *why, struct nb_error *error)
{
    if (rc == NB_CORRUPT && atomic_load(&live->removed))
        return nb_error_about(error,
                              nb_error_set(error, NB_NOT_FOUND,
                                           "the model '%s' was deleted or replaced meanwhile",
                                           live->name),
                              "model_not_found", NULL);
    if (rc == NB_CORRUPT) {
        nb_live_set_damaged(live, why);
        return nb_live_check(live, error);
    }
    if (rc != 0 && error != NULL && why->code != 0)
        *error = *why;
    return rc;
}

int nb_live_refuse_several(const struct nb_live *live, struct nb_error *error)
{
    /* Settings are read under a lock, which is no change of the model. */
    struct nb_published *published = nb_live_settings((struct nb_live *)(uintptr_t)live);
    bool are_several = nb_published_is_several(published);
    nb_published_release(&published);
    return !are_several
               ? 0
               : nb_error_about(error,
                                nb_error_set(error, NB_UNUSABLE,
                                             "the documents of the model '%s' have several "
                                             "labels: this is for models whose documents "
                                             "have one",
                                             live->name),
                                "several_labels", NULL);
}

int nb_live_label(const struct nb_live *live, struct nb_string name, uint32_t *number,
                  struct nb_error *error)
{
    struct nb_level_hint hint = {0};
    int rc = nb_live_refuse_several(live, error);
    if (rc != 0)
        return rc;
    *number = nb_model_find_label(live->counts, name);
    if (*number != UINT32_MAX)
        return 0;
    const uint32_t *sorted = nb_model_labels_sorted(live->counts);
    uint32_t count = nb_model_label_count(live->counts);
    for (uint32_t i = 0; i < count; i++)
        nb_level_hint_add(&hint, name, nb_model_label_name(live->counts, sorted[i]));
    return nb_error_about(error,
                          nb_error_set(error, NB_NOT_FOUND, "model '%s' has no label '%.*s'%s",
                                       live->name, (int)name.length, name.bytes, hint.text),
                          "label_not_found", "label");
}

uint32_t nb_published_judged_place(const struct nb_published *published,
                                   const struct nb_model *counts)
{
    const uint32_t *sorted = nb_model_labels_sorted(counts);
    uint32_t count = 0, place = UINT32_MAX;
    if (!published->settings.passages || !nb_published_is_stacked(published) ||
        published->settings.parent != NULL)
        return UINT32_MAX;
    for (uint32_t i = 0; i < nb_model_label_count(counts); i++) {
        if (nb_model_documents(counts, sorted[i]) == 0)
            continue;
        if (nb_string_equals(nb_model_label_name(counts, sorted[i]), "spam"))
            place = count;
        count++;
    }
    return count >= 2 ? place : UINT32_MAX;
}

static bool is_spam(const struct nb_live *live, uint32_t label)
{
    return nb_string_equals(nb_model_label_name(live->counts, label), "spam");
}

int nb_live_judged_learn(struct nb_live *live, uint32_t label, uint64_t judged)
{
    return judged == 0
               ? 0
               : nb_stack_margins_learn(live->published->weights, nb_stack_judged_unpack(judged),
                                        is_spam(live, label));
}

int nb_live_judged_unlearn(struct nb_live *live, uint32_t label, uint64_t judged, uint64_t later)
{
    return judged == 0
               ? 0
               : nb_stack_margins_unlearn(live->published->weights, nb_stack_judged_unpack(judged),
                                          is_spam(live, label), later);
}
