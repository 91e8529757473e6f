/* SPDX-License-Identifier: Apache-2.0
 *
 * Classifying: the caller's thread tokenizes the document and makes one pass over the counts, under
 * the model's read lock (core/model/verdict_score.c).
 */
#include <assert.h>
#include <string.h>

#include "core/base/names.h"
#include "core/base/system.h"
#include "core/em/unlabelled.h"
#include "core/engine/engine.h"
#include "core/engine/precision.h"
#include "core/model/drift.h"
#include "core/model/parents.h"
#include "core/model/registry.h"
#include "core/model/verdict_parts.h"
#include "core/writer/remember.h"
#include "core/writer/submit.h"
#include "core/writer/upkeep.h"

static int tokenize(struct nb_engine *engine, const struct nb_live *live,
                    const struct nb_tokenizer_settings *settings,
                    const struct nb_document *document, struct nb_bag *bag, struct nb_error *error)
{
    int rc = document->values.count == 0
                 ? 0
                 : nb_values_check(document->values, settings->attributes, error);
    if (rc != 0)
        return rc;
    rc = nb_document_tokenize(document, live->key, settings, &engine->settings.tokenizer, bag);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* Texts of features are read only by an explanation of at most `most` tokens, and to remember the
 * document. */
static struct nb_tokenizer_settings tokenizer_for(const struct nb_published *published, size_t most)
{
    struct nb_tokenizer_settings settings = nb_published_tokenizer(published);
    settings.without_texts = most == 0 && published->settings.history == 0;
    settings.with_visible = most > 0 && published->settings.passages;
    return settings;
}

/* Whether the bag already holds what the model sees. Models share the key of the store, except
 * those that were imported from another one; attributes are each model's own. */
static bool sees_the_same(const struct nb_verdict_private *p, const struct nb_document *document,
                          const struct nb_tokenizer_settings *settings)
{
    return p->has_bag && document->values.count == 0 && p->seen_by.mail_server == NULL &&
           settings->mail_server == NULL && p->seen_by.fields == settings->fields &&
           p->seen_by.max_count == settings->max_count &&
           (settings->without_texts || !p->seen_by.without_texts) &&
           (!settings->with_visible || p->seen_by.with_visible) &&
           memcmp(p->key, p->live->key->bytes, sizeof p->key) == 0;
}

static int fill_bag(struct nb_verdict_private *p, const struct nb_tokenizer_settings *settings,
                    const struct nb_document *document, struct nb_error *error)
{
    p->has_bag = false;
    int rc = tokenize(p->engine, p->live, settings, document, &p->bag, error);
    if (rc != 0)
        return rc;
    p->has_bag = true;
    p->seen_by = *settings;
    memcpy(p->key, p->live->key->bytes, sizeof p->key);
    return 0;
}

/* Makes the bag of a document, unless it exists already. */
static int see(struct nb_verdict_private *p, const struct nb_document *document, size_t most,
               struct nb_error *error)
{
    struct nb_tokenizer_settings settings = tokenizer_for(p->chain.published[0], most);
    return sees_the_same(p, document, &settings) ? 0 : fill_bag(p, &settings, document, error);
}

/* Two threads may each make a record at the same time: only one is kept. */
static struct nb_drift *drift_of(struct nb_live *live)
{
    struct nb_drift *drift = atomic_load(&live->drift), *none = NULL;
    if (drift != NULL)
        return drift;
    drift = nb_drift_new();
    if (drift != NULL && !atomic_compare_exchange_strong(&live->drift, &none, drift)) {
        nb_drift_free(&drift);
        drift = none;
    }
    return drift;
}

/* Notes the probability of the last label by name if there are two labels, else that of the
 * winner. */
static void note_drift(struct nb_live *live, const struct nb_verdict *verdict)
{
    size_t place = verdict->size == 2 ? 1 : verdict->best;
    if (!verdict->ready || verdict->size < 2 || verdict->is_given != NULL)
        return; /* scores from few documents differ from those from many */
    struct nb_drift *drift = drift_of(live);
    if (drift != NULL)
        nb_drift_add(drift, (uint32_t)verdict->size, verdict->probabilities[place]);
}

/* Begins the chain of the verdict's model, which has a fit of its present documents if these have
 * several labels. */
static int begin_chain(const struct nb_verdict *verdict, struct nb_engine *engine,
                       struct nb_error *error)
{
    struct nb_verdict_private *p = verdict->private_;
    struct nb_published *published = nb_live_settings(p->live);
    bool are_several = nb_published_is_several(published);
    nb_published_release(&published);
    if (are_several && !verdict->takes_several)
        return nb_error_about(error,
                              nb_error_set(error, NB_UNUSABLE,
                                           "the documents of the model '%s' have several labels: "
                                           "only POST /v1/models/%s/classify judges them",
                                           p->live->name, p->live->name),
                              "several_labels", NULL);
    int rc = are_several ? nb_refining_catch_up(engine, p->live, error) : 0;
    if (rc == 0)
        rc = nb_parent_chain_begin(&p->chain, engine, p->live, error);
    /* A failure leaves the decision unsure, or as it was; a verdict does without. */
    if (rc == 0 && p->chain.published[0]->wishes != NULL)
        (void)nb_wishes_catch_up(engine, p->live, p->chain.published[0], NULL);
    return rc;
}

static int classify(struct nb_engine *engine, struct nb_string model,
                    const struct nb_document *document, size_t most, bool is_again,
                    struct nb_verdict *verdict, struct nb_error *error)
{
    if (nb_verdict_prepare(verdict, engine) != 0)
        return nb_error_no_memory(error);
    struct nb_verdict_private *p = verdict->private_;
    p->has_bag = p->has_bag && is_again;
    int rc = nb_registry_acquire(engine, model, false, &p->live, error);
    if (rc != 0)
        return rc;
    rc = begin_chain(verdict, engine, error);
    if (rc == 0)
        rc = see(p, document, most, error);
    if (rc == 0)
        rc = nb_verdict_score(verdict, most, error);
    if (rc == 0)
        note_drift(p->live, verdict);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

int nb_engine_classify(struct nb_engine *engine, struct nb_string model,
                       const struct nb_document *document, size_t most, struct nb_verdict *verdict,
                       struct nb_error *error)
{
    return classify(engine, model, document, most, false, verdict, error);
}

int nb_engine_classify_again(struct nb_engine *engine, struct nb_string model,
                             const struct nb_document *document, size_t most,
                             struct nb_verdict *verdict, struct nb_error *error)
{
    return classify(engine, model, document, most, true, verdict, error);
}

static int copy_bag(const struct nb_bag *from, struct nb_bag *to)
{
    nb_bag_reset(to);
    for (size_t i = 0; i < from->size; i++) {
        if (nb_bag_add_id(to, from->features[i].id, from->texts[i].bytes, from->texts[i].length) !=
            0)
            return NB_NO_MEMORY;
        to->features[to->size - 1].count = from->features[i].count;
        to->features[to->size - 1].passage = from->features[i].passage;
    }
    to->positions = from->positions;
    to->truncated = from->truncated;
    to->passage_lead = from->passage_lead;
    to->visible_length = from->visible_length;
    return 0;
}

int nb_engine_classify_bag(struct nb_engine *engine, struct nb_string model,
                           const struct nb_bag *bag, size_t most, struct nb_verdict *verdict,
                           struct nb_error *error)
{
    if (nb_verdict_prepare(verdict, engine) != 0)
        return nb_error_no_memory(error);
    struct nb_verdict_private *p = verdict->private_;
    p->has_bag = false;
    int rc = nb_registry_acquire(engine, model, false, &p->live, error);
    if (rc == 0)
        rc = begin_chain(verdict, engine, error);
    if (rc == 0)
        rc = copy_bag(bag, &p->bag);
    if (rc == 0)
        rc = nb_verdict_score(verdict, most, error);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

/* ---- the history ----------------------------------------------------------------------------- */

static int have_coder(struct nb_verdict_private *p)
{
    if (p->coder == NULL)
        p->coder = nb_features_coder_new();
    return p->coder == NULL ? NB_NO_MEMORY : 0;
}

static int append_id(const struct nb_live *live, const struct nb_document *document,
                     struct nb_string given, struct nb_buffer *id, struct nb_error *error)
{
    char made[NB_CONTENT_ID_LENGTH + 1];
    int rc = given.length > 0 ? nb_check_id(given, error) : 0;
    if (rc != 0)
        return rc;
    if (given.length == 0) {
        rc = nb_batch_make_id(live->id_key, document, made);
        given = (struct nb_string){made, NB_CONTENT_ID_LENGTH};
    }
    if (rc == 0)
        rc = nb_buffer_append(id, given.bytes, given.length);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* Wakes the writer. It sleeps for a second when it has nothing to do, which is too long if many
 * verdicts are noted. */
static void wake_writer(struct nb_engine *engine)
{
    pthread_mutex_lock(&engine->queue.lock);
    engine->queue.remember = true;
    pthread_cond_signal(&engine->queue.filled);
    pthread_mutex_unlock(&engine->queue.lock);
}

/* Whether the model may judge passages, now or when the document gets its label. */
static bool keeps_passages(const struct nb_published *published)
{
    return published->settings.passages && nb_published_is_stacked(published);
}

int nb_engine_remember(struct nb_engine *engine, const struct nb_verdict *verdict,
                       const struct nb_document *document, const struct nb_remembered *about,
                       struct nb_buffer *id, bool *kept, struct nb_error *error)
{
    struct nb_verdict_private *p = verdict->private_;
    size_t before = id->length;
    assert(verdict->size > 0);
    if (!verdict->keeps_history || p->live->number == 0)
        return nb_error_set(error, NB_CONFLICT,
                            "the model '%s' keeps no history: its setting \"history\" says how "
                            "many verdicts it keeps",
                            p->live->name);
    int rc = nb_check_source(about->source, error);
    if (rc == 0)
        rc = append_id(p->live, document, about->id, id, error);
    if (rc != 0)
        return rc;
    struct nb_remember_note note = {.id = {id->bytes + before, id->length - before},
                                    .message_id = about->message_id,
                                    .subject = about->subject,
                                    .sender = about->sender,
                                    .source = about->source,
                                    .verdict = nb_string_of(verdict->labels[verdict->best]),
                                    .probability = verdict->probabilities[verdict->best],
                                    .known = verdict->of_labels,
                                    .fields = p->seen_by.fields,
                                    .keeps_passages = keeps_passages(p->chain.published[0])};
    *kept = have_coder(p) == 0 && nb_remember_note(engine, p->live, &note, &p->bag, p->coder) == 0;
    if (nb_remember_is_urgent(engine))
        wake_writer(engine);
    return 0;
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
    struct nb_tokenizer_settings settings = nb_published_tokenizer(published);
    rc = tokenize(engine, live, &settings, document, bag, error);
    nb_published_release(&published);
    nb_registry_release(engine, &live);
    return rc;
}

void nb_engine_count_verdict(struct nb_engine *engine)
{
    uint64_t period = nb_traffic_period();
    atomic_uint_fast64_t *slot = &engine->traffic.slots[period % NB_TRAFFIC_SLOTS];
    uint64_t old = atomic_load_explicit(slot, memory_order_relaxed), new;
    do
        new = nb_traffic_slot(period, old >> 32 == period ? (uint32_t)old + UINT64_C(1) : 1);
    while (!atomic_compare_exchange_weak_explicit(slot, &old, new, memory_order_relaxed,
                                                  memory_order_relaxed));
}
