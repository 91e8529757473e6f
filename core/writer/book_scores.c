/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/book_scores.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/bayes/scorer.h"
#include "core/ledger/document_lists.h"

enum {
    DOCUMENTS_LEAST = 20,
    OF_LABEL_LEAST = 5,    /* documents of each of two labels */
    ROWS_MOST = 100000000, /* most rows walked over for all scores: half a second */
    WALKS_LEAST = 50,
    AT_ONCE = 16 /* documents: less than a millisecond */
};

void nb_book_scores_deinit(struct nb_book_scores *s)
{
    nb_scorer_free(&s->scorer);
    nb_published_release(&s->published);
    nb_entry_deinit(&s->entry);
    nb_rows_deinit(&s->rows);
    nb_scores_deinit(&s->said);
    free(s->features);
    free(s->numbers);
    free(s->labels);
    free(s->truths);
    free(s->scores);
    *s = (struct nb_book_scores){.live = NULL};
}

bool nb_book_scores_are_enough(const struct nb_model *counts)
{
    unsigned labels = 0;
    for (uint32_t v = 0; v < nb_model_label_count(counts); v++)
        labels += nb_model_documents(counts, v) >= OF_LABEL_LEAST;
    return labels >= 2 && nb_model_documents_all(counts) >= DOCUMENTS_LEAST;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Puts the numbers of the labels with documents, sorted by name, into `labels`, which has room for
 * all. Returns how many there are. */
static uint32_t list_labels(const struct nb_model *counts, uint32_t *labels)
{
    const uint32_t *sorted = nb_model_labels_sorted(counts);
    uint32_t found = 0;
    for (uint32_t i = 0; i < nb_model_label_count(counts); i++) {
        if (nb_model_documents(counts, sorted[i]) == 0)
            continue;
        labels[found++] = sorted[i];
    }
    return found;
}

static uint32_t sample_size(const struct nb_book_scores *s, struct nb_book_sample sample,
                            uint64_t documents)
{
    assert(s->label_count > 0);
    uint64_t most = sample.scores_most / s->label_count;
    uint64_t walks = ROWS_MOST / ((uint64_t)nb_model_rows(s->live->counts) + 1);
    most = most < sample.documents_most ? most : sample.documents_most;
    if (nb_settings_walk_vocabulary(&s->published->settings) && most > walks)
        most = walks > WALKS_LEAST ? walks : WALKS_LEAST;
    return (uint32_t)(documents < most ? documents : most);
}

static int draw(struct nb_book_scores *s, const struct nb_view *view, struct nb_book_sample sample,
                struct nb_random random)
{
    struct nb_current_entries *current = NULL;
    int rc = nb_current_entries_load(view, s->live->number, &current, NULL);
    if (rc != 0)
        return rc;
    s->size = sample_size(s, sample, nb_current_entries_count(current));
    s->numbers = calloc(s->size + (size_t)1, sizeof *s->numbers);
    s->truths = calloc(s->size + (size_t)1, sizeof *s->truths);
    s->scores = calloc(((size_t)s->size + 1) * s->label_count, sizeof *s->scores);
    rc = s->numbers == NULL || s->truths == NULL || s->scores == NULL ? NB_NO_MEMORY : 0;
    if (rc == 0)
        nb_current_entries_sample(current, &random, s->size, s->numbers);
    nb_current_entries_free(&current);
    return rc;
}

int nb_book_scores_begin(struct nb_book_scores *s, struct nb_live *live, const struct nb_view *view,
                         struct nb_book_sample sample, struct nb_random random)
{
    s->live = live;
    s->published = nb_live_settings(live);
    nb_scores_init(&s->said);
    s->labels = calloc(nb_model_label_count(live->counts) + (size_t)1, sizeof *s->labels);
    if (s->labels == NULL || nb_scorer_new(&s->published->settings, &s->scorer) != 0)
        return NB_NO_MEMORY;
    s->label_count = list_labels(live->counts, s->labels);
    return s->label_count == 0 ? NB_CONFLICT : draw(s, view, sample, random);
}

bool nb_book_scores_go_on(const struct nb_book_scores *s)
{
    const struct nb_model *counts = s->live->counts;
    const uint32_t *sorted = nb_model_labels_sorted(counts);
    uint32_t found = 0;
    if (s->published != s->live->published)
        return false;
    for (uint32_t i = 0; i < nb_model_label_count(counts); i++) {
        if (nb_model_documents(counts, sorted[i]) == 0)
            continue;
        if (found == s->label_count || s->labels[found++] != sorted[i])
            return false;
    }
    return found == s->label_count;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Reads the document of an entry of the sample; *found: it is still learned. */
static int read_document(struct nb_book_scores *s, const struct nb_view *view, uint64_t number,
                         bool *found)
{
    const struct nb_model *counts = s->live->counts;
    const struct nb_change *change = &s->entry.change;
    *found = false;
    int rc = nb_ledger_read(view, number, &s->entry, NULL);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == 0)
        rc = nb_ledger_is_current(view, &s->entry, found, NULL);
    *found = *found && change->kind == NB_CHANGE_TRAIN && change->model == s->live->number;
    if (rc != 0 || !*found)
        return rc;
    rc = nb_bag_decode(change->bag, nb_model_rows(counts), &s->rows, NULL);
    if (rc == 0)
        rc = nb_array_reserve(&s->features, &s->feature_room, s->rows.size, sizeof *s->features);
    for (size_t i = 0; rc == 0 && i < s->rows.size; i++)
        s->features[i] = (struct nb_feature){nb_model_row_id(counts, s->rows.counts[i].row),
                                             s->rows.counts[i].count};
    return rc;
}

static void score(void *user)
{
    struct nb_book_scores *s = user;
    s->code = nb_score(s->scorer, s->live->counts, s->features, s->rows.size, &s->said, NULL);
}

/* The only document of a label gets no score for this label. */
static int score_without(struct nb_book_scores *s)
{
    uint32_t label = s->entry.change.label, place = 0;
    while (place < s->label_count && s->labels[place] != label)
        place++;
    if (place == s->label_count || nb_model_documents(s->live->counts, label) < 2)
        return 0;
    nb_model_without(s->live->counts, label, s->rows.counts, s->rows.size, score, s);
    if (s->code != 0)
        return s->code;
    assert(s->said.size == s->label_count && s->count < s->size);
    memcpy(s->scores + s->count * s->label_count, s->said.log_scores,
           s->label_count * sizeof *s->scores);
    s->numbers[s->count] = s->entry.number; /* count < next: its own number, or an older place */
    s->truths[s->count++] = place;
    return 0;
}

int nb_book_scores_some(struct nb_book_scores *s, const struct nb_view *view)
{
    bool walks = nb_settings_walk_vocabulary(&s->published->settings);
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < (walks ? 1 : AT_ONCE) && s->next < s->size; i++) {
        bool found;
        rc = read_document(s, view, s->numbers[s->next++], &found);
        if (rc == 0 && found)
            rc = score_without(s);
    }
    return rc;
}

struct nb_calibration_scores nb_book_scores_of(const struct nb_book_scores *s)
{
    return (struct nb_calibration_scores){.label_count = s->label_count,
                                          .labels = s->labels,
                                          .count = s->count,
                                          .truths = s->truths,
                                          .log_scores = s->scores};
}
