/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "core/jobs/generate/generate.h"
#include "core/jobs/generate/label_walk.h"
#include "core/jobs/generate/positions.h"
#include "core/ledger/entries/row_texts.h"
#include "core/model/live/state.h"

static void pass_word(void *user, const struct nb_word_law *law, const struct nb_walked_word *word)
{
    (void)law;
    nb_positions_offer(user, word->feature, word->row, (double)word->count + word->addend);
}

static int tell_word(struct nb_row_texts *texts, const struct nb_position *p,
                     int (*word)(void *user, struct nb_string word), void *user,
                     struct nb_error *error)
{
    struct nb_string text;
    bool is_kept = false;
    int rc = nb_row_texts_get(texts, p->row, p->feature, &text, &is_kept, error);
    if (rc == NB_NOT_FOUND)
        return 0; /* forgotten meanwhile */
    if (rc == 0 && !is_kept)
        rc = nb_error_set(error, NB_CONFLICT,
                          "words were learned without their texts ([store] keep_words = no): there "
                          "is nothing to write a document with");
    return rc != 0 ? rc : word(user, text);
}

static int tell_words(const struct nb_label_walk *walk, struct nb_positions *p,
                      int (*word)(void *user, struct nb_string word), void *user,
                      struct nb_error *error)
{
    struct nb_row_texts texts;
    nb_positions_sort(p);
    int rc =
        nb_row_texts_begin(&texts, walk->engine->store, walk->live->number, walk->live->key, error);
    for (size_t i = 0; rc == 0 && i < p->length; i++)
        rc = tell_word(&texts, &p->heap[i], word, user, error);
    nb_row_texts_end(&texts);
    return rc;
}

static int draw(struct nb_label_walk *walk, struct nb_positions *p, struct nb_error *error)
{
    int rc = nb_label_walk_all(walk, pass_word, p, error);
    if (rc == 0 && !(p->sum > 0) && nb_label_walk_attributes(walk) == 0)
        return nb_error_set(error, NB_CONFLICT,
                            "the label has no words in model '%s': nothing can be drawn",
                            walk->live->name);
    return rc;
}

int nb_generate_sample(struct nb_engine *engine, struct nb_string model,
                       const struct nb_sampling *sampling,
                       int (*word)(void *user, struct nb_string word), void *user,
                       struct nb_error *error)
{
    struct nb_label_walk walk;
    struct nb_positions p = {0};
    struct nb_error why = {0};
    assert(sampling->temperature >= NB_TEMPERATURE_LEAST &&
           sampling->temperature <= NB_TEMPERATURE_MOST);
    int rc = nb_label_walk_begin(&walk, engine, model, sampling->label, error);
    if (rc != 0)
        return rc;
    rc = nb_positions_begin(&p, sampling->length, sampling->seed, sampling->temperature);
    if (rc != 0)
        (void)nb_error_no_memory(&why);
    if (rc == 0 && p.length > 0)
        rc = draw(&walk, &p, &why);
    if (rc == 0 && p.sum > 0)
        rc = tell_words(&walk, &p, word, user, &why);
    rc = nb_live_note(walk.live, rc, &why, error);
    nb_positions_deinit(&p);
    nb_label_walk_end(&walk);
    return rc;
}
