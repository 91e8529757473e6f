/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/guard_fold.h"

#include <math.h>
#include <string.h>

#include "core/base/error.h"

/* ---- a fold ---------------------------------------------------------------------------------- */

/* Takes the documents of a fold out of a copy of the counts. */
static void leave_out(struct nb_guard_trial *t)
{
    const struct nb_corpus *c = t->corpus;
    memcpy(t->counts, c->word_counts, (size_t)c->words * c->labels * sizeof *t->counts);
    for (size_t d = 0; d < t->fold.count; d++) {
        uint32_t label = t->fold.labels[d];
        for (size_t i = t->fold.begin[d]; i < t->fold.middle[d]; i++) {
            double *count = &t->counts[(size_t)c->labelled.columns[i] * c->labels + label];
            *count = fmax(*count - (t->guard->em.is_binary ? 1 : c->labelled.counts[i]), 0);
        }
    }
}

/* The same of numbers, when t->without has them. */
static int leave_numbers_out(struct nb_guard_trial *t)
{
    const struct nb_besides besides = {.list = {{t->without, -1}}, .count = 1};
    return nb_document_numbers_labelled(t->guard->numbers, t->corpus, t->guard->family, &besides,
                                        &t->blend, t->labelled);
}

static int begin_fold(struct nb_guard_trial *t, uint32_t fold)
{
    const struct nb_corpus *c = t->corpus;
    struct nb_expected_columns columns = nb_corpus_columns(c);
    struct nb_em given;
    nb_expected_release(&t->without);
    nb_guard_chosen_deinit(&t->fold);
    if (nb_guard_chosen_init(&t->fold, c->labelled.count) != 0)
        return NB_NO_MEMORY;
    for (size_t d = 0; d < c->labelled.count; d++)
        if (t->folds[d] == fold)
            nb_guard_choose_document(&t->fold, &c->labelled, d);
    leave_out(t);
    if (nb_em_given(t->fold.labels, t->fold.count, &given) != 0)
        return NB_NO_MEMORY;
    struct nb_em_documents documents = nb_guard_documents(&t->fold, &c->labelled);
    int rc = nb_expected_new(&columns, &documents, &given, c->numbers, c->labels, c->vocabulary,
                             &t->without);
    nb_em_deinit(&given);
    return rc == 0 && t->guard->numbers->count > 0 ? leave_numbers_out(t) : rc;
}

static int fit(struct nb_guard_trial *t, const struct nb_guard_candidate *candidate,
               struct nb_expected **expected)
{
    const struct nb_corpus *c = t->corpus;
    struct nb_expected_columns columns = nb_corpus_columns(c);
    struct nb_em_documents documents = nb_guard_documents(&t->unlabelled, &c->unlabelled);
    struct nb_em_question question = t->guard->em;
    struct nb_em em;
    const struct nb_em_numbers numbers = {t->guard->numbers->count, t->values, t->labelled};
    question.documents = &documents;
    question.counts = t->counts;
    question.numbers = numbers.count > 0 ? &numbers : NULL;
    /* The documents in the fit together weigh as much as all documents without a label. */
    question.weight = candidate->weight * (double)c->unlabelled.count / (double)t->unlabelled.count;
    question.smoothing = candidate->smoothing;
    question.iterations_most = NB_GUARD_ITERATIONS;
    int rc = nb_em_fit(&question, &em);
    if (rc != 0)
        return rc;
    rc = nb_expected_new(&columns, &documents, &em, c->numbers, c->labels, c->vocabulary, expected);
    nb_em_deinit(&em);
    return rc;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Index in the corpus of a label in the scores; UINT32_MAX: none. */
static uint32_t label_of(const struct nb_guard_trial *t, uint32_t scored, uint32_t *at)
{
    const struct nb_corpus *c = t->corpus;
    if (c->viewed.count > 0)
        return nb_viewed_label(&c->viewed, &t->blend, scored, at);
    uint32_t number = t->scorer == NULL ? t->blend.labels[scored].numbers[0] : scored;
    for (uint32_t v = 0; v < c->labels; v++)
        if (c->numbers[v] == number)
            return v;
    return UINT32_MAX;
}

static void keep(struct nb_guard_trial *t, const struct nb_scores *scores, double *to)
{
    uint32_t at = 0;
    for (size_t i = 0; i < scores->size; i++) {
        uint32_t v = label_of(t, scores->labels[i], &at);
        if (v != UINT32_MAX)
            to[v] = scores->log_scores[i];
    }
}

/* Moderates the scores as for a verdict, with document counts that exclude the fold. */
static void moderate(struct nb_guard_trial *t)
{
    struct nb_scores *s = &t->said;
    for (size_t i = 0; i < s->size; i++) {
        const struct nb_blend_label *label = &t->blend.labels[s->labels[i]];
        double documents =
            (double)label->documents - nb_expected_documents(t->without, label->numbers[0]);
        s->documents[i] = documents >= 1 ? (uint64_t)documents : 1;
    }
    (void)nb_scores_moderate(s);
}

static int score_blended(struct nb_guard_trial *t, size_t size, const struct nb_besides *besides)
{
    const struct nb_family *family = t->guard->family;
    bool is_stacked = t->weights != NULL;
    if (family->speaker_count == 0 || family->speakers[0] != 0)
        return NB_CONFLICT;
    int rc = nb_family_blend_beside(family, t->weights, besides, &t->blend);
    if (rc == 0)
        rc = nb_blend_score(&t->blend, t->features, size, is_stacked ? NULL : &t->said,
                            is_stacked ? &t->said : NULL);
    if (rc == 0 && is_stacked && besides->count == 1)
        moderate(t);
    return rc;
}

/* Scores a document of the fold. The last of `besides` takes the fold out of the counts; one before
 * it, if any, adds the counts that EM expects. */
static int score(struct nb_guard_trial *t, size_t document, const struct nb_besides *besides,
                 double *to)
{
    const struct nb_corpus *c = t->corpus;
    struct nb_family *family = t->guard->family;
    size_t size = 0;
    for (size_t i = t->fold.begin[document]; i < t->fold.end[document]; i++)
        t->features[size++] =
            (struct nb_feature){c->ids[c->labelled.columns[i]], c->labelled.counts[i]};
    nb_family_lock(family);
    int rc = t->scorer == NULL
                 ? score_blended(t, size, besides)
                 : nb_score(t->scorer, family->live[0]->counts, t->features, size, &t->said, NULL);
    if (rc == 0)
        keep(t, &t->said, to);
    nb_family_unlock(family);
    return rc == NB_CONFLICT ? 0 : rc; /* meanwhile all documents were forgotten */
}

/* Scores the fold with candidate `n` - 1; n = 0: without expected counts. */
static int score_fold(struct nb_guard_trial *t, uint32_t fold, unsigned n,
                      struct nb_expected *expected)
{
    struct nb_besides besides = {.count = 0};
    double share = (double)t->corpus->unlabelled.count / (double)t->unlabelled.count;
    if (n > 0)
        besides.list[besides.count++] =
            (struct nb_beside){expected, t->candidates[n - 1].weight * share};
    besides.list[besides.count++] = (struct nb_beside){t->without, -1};
    nb_scorer_free(&t->scorer);
    bool is_blended =
        t->weights != NULL || t->corpus->viewed.count > 0 || t->corpus->attributes > 0;
    int rc =
        is_blended ? 0 : nb_scorer_new_beside(&t->guard->published->settings, &besides, &t->scorer);
    for (size_t d = 0, at = 0; rc == 0 && d < t->corpus->labelled.count; d++) {
        if (t->folds[d] != fold)
            continue;
        size_t place = (size_t)n * t->measured + t->places[d];
        rc = score(t, at++, &besides, t->scores + place * t->corpus->labels);
    }
    return rc;
}

int nb_guard_try_fold(struct nb_guard_trial *t, uint32_t fold)
{
    const struct nb_guard *g = t->guard;
    int rc = begin_fold(t, fold);
    if (rc == 0 && t->fold.count == 0)
        return 0;
    if (rc == 0)
        rc = score_fold(t, fold, 0, NULL);
    for (unsigned n = 0; rc == 0 && n < t->count; n++) {
        struct nb_expected *expected = NULL;
        rc = fit(t, &t->candidates[n], &expected);
        if (rc == 0)
            rc = score_fold(t, fold, n + 1, expected);
        nb_expected_release(&expected);
        if (rc == 0)
            g->step(g->user, ++t->done, t->fold_count * t->count);
    }
    return rc;
}
