/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/em_guard_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

enum {
    SINGLE_MOST = 50,      /* with up to so many labelled documents, each is left out alone ... */
    FOLDS = 10,            /* ... and more are cut into so many folds ... */
    FOLDS_LEAST = 3,       /* ... or fewer, if the fits would take too long */
    DOCUMENTS_MOST = 3000, /* documents without a label in a fit of a fold */
    SCORES_MOST = 100000,  /* documents times labels */
};
/* Bound of all fits: words of documents times labels times iterations. A step takes about 1 ns. */
static const double steps_most = 5e9;
static const double weights[] = {.01, .03, .1, .3, 1};
static const double smoothings[] = {.001, .01};
enum {
    WEIGHTS = sizeof weights / sizeof *weights,
    SMOOTHINGS = sizeof smoothings / sizeof *smoothings,
};
_Static_assert(WEIGHTS *SMOOTHINGS == NB_GUARD_CANDIDATES_MOST, "all have a place");

/* ---- some documents -------------------------------------------------------------------------- */

static void guard_chosen_deinit(struct nb_guard_chosen *c)
{
    free(c->begin);
    free(c->middle);
    free(c->end);
    free(c->labels);
    *c = (struct nb_guard_chosen){.count = 0};
}

void nb_guard_trial_deinit(struct nb_guard_trial *t)
{
    if (t->weights != NULL)
        nb_stack_weights_free(&t->weights);
    guard_chosen_deinit(&t->unlabelled);
    guard_chosen_deinit(&t->fold);
    free(t->folds);
    free(t->places);
    free(t->truths);
    free(t->folds_of);
    free(t->scores);
    free(t->counts);
    free(t->values);
    free(t->labelled);
    nb_expected_release(&t->without);
    nb_scorer_free(&t->scorer);
    nb_blend_deinit(&t->blend);
    free(t->features);
    nb_scores_deinit(&t->said);
}

/* Documents are chosen one by one, `most` of them. Returns 0 or NB_NO_MEMORY. */
static int guard_chosen_init(struct nb_guard_chosen *c, size_t most)
{
    *c = (struct nb_guard_chosen){.count = 0};
    c->begin = calloc(most + 1, sizeof *c->begin);
    c->middle = calloc(most + 1, sizeof *c->middle);
    c->end = calloc(most + 1, sizeof *c->end);
    c->labels = calloc(most + 1, sizeof *c->labels);
    bool good = c->begin != NULL && c->middle != NULL && c->end != NULL && c->labels != NULL;
    return good ? 0 : NB_NO_MEMORY;
}

static void guard_choose_document(struct nb_guard_chosen *c, const struct nb_corpus_part *part,
                                  size_t document)
{
    c->begin[c->count] = part->begin[document];
    c->middle[c->count] = part->middle[document];
    c->end[c->count] = part->end[document];
    c->labels[c->count++] = part->labels[document];
}

/* The arrays are borrowed from both arguments. */
static struct nb_em_documents guard_documents(const struct nb_guard_chosen *c,
                                              const struct nb_corpus_part *part)
{
    return (struct nb_em_documents){c->count, c->begin,      c->middle,
                                    c->end,   part->columns, part->counts};
}

/* ---- candidates ------------------------------------------------------------------------------ */

static void add_candidates(struct nb_guard_trial *t, double weight)
{
    for (unsigned i = 0; i < SMOOTHINGS; i++)
        t->candidates[t->count++] = (struct nb_guard_candidate){weight, smoothings[i]};
}

void nb_guard_list_candidates(struct nb_guard_trial *t)
{
    double given = t->guard->published->settings.unlabelled_weight;
    if (!nb_weight_is_auto(given))
        add_candidates(t, given);
    for (unsigned i = 0; nb_weight_is_auto(given) && i < WEIGHTS; i++)
        add_candidates(t, weights[i]);
    assert(t->count > 0 && t->count <= NB_GUARD_CANDIDATES_MOST);
}

/* The only document of a label is not measured: without it, the label would have none. */
static bool is_measured(const struct nb_guard_trial *t, size_t document)
{
    return t->corpus->documents[t->corpus->labelled.labels[document]] >= 2;
}

size_t nb_guard_count_measured(const struct nb_guard_trial *t)
{
    size_t count = 0, most = SCORES_MOST / t->corpus->labels;
    for (size_t d = 0; d < t->corpus->labelled.count && count < most; d++)
        count += is_measured(t, d);
    return count;
}

/* Estimated steps of all fits of one fold. */
static double steps_of_fold(const struct nb_guard_trial *t)
{
    const struct nb_guard_chosen *c = &t->unlabelled;
    double words = 0;
    for (size_t d = 0; d < c->count; d++)
        words += (double)(c->middle[d] - c->begin[d]);
    return fmax(words, 1) * t->corpus->labels * NB_GUARD_ITERATIONS * t->count;
}

static void choose_fold_count(struct nb_guard_trial *t)
{
    size_t measured = nb_guard_count_measured(t);
    double most = fmax(steps_most / steps_of_fold(t), FOLDS_LEAST);
    t->fold_count = measured <= SINGLE_MOST ? (uint32_t)measured : FOLDS;
    if (t->fold_count > most)
        t->fold_count = (uint32_t)most;
}

/* Distributes the documents of each label over the folds in turn, so that at least one document of
 * the label is outside of each fold; or gives each document a fold of its own. */
static int deal_folds(struct nb_guard_trial *t)
{
    const struct nb_corpus_part *part = &t->corpus->labelled;
    size_t most = nb_guard_count_measured(t);
    bool are_single = most == t->fold_count;
    assert(t->fold_count > 0);
    t->folds = calloc(part->count + 1, sizeof *t->folds);
    t->places = calloc(part->count + 1, sizeof *t->places);
    t->truths = calloc(part->count + 1, sizeof *t->truths);
    t->folds_of = calloc(part->count + 1, sizeof *t->folds_of);
    uint32_t *dealt = calloc(t->corpus->labels, sizeof *dealt);
    if (t->folds == NULL || t->places == NULL || t->truths == NULL || t->folds_of == NULL ||
        dealt == NULL) {
        free(dealt);
        return NB_NO_MEMORY;
    }
    for (size_t d = 0; d < part->count; d++) {
        uint32_t label = part->labels[d];
        bool is_dealt = is_measured(t, d) && t->measured < most;
        uint32_t dealt_to =
            are_single ? (uint32_t)t->measured : (dealt[label]++ + label) % t->fold_count;
        t->folds[d] = is_dealt ? dealt_to : t->fold_count;
        t->places[d] = t->measured;
        if (!is_dealt)
            continue;
        t->folds_of[t->measured] = t->folds[d];
        t->truths[t->measured++] = label;
    }
    free(dealt);
    return 0;
}

static int choose_unlabelled(struct nb_guard_trial *t)
{
    const struct nb_corpus_part *part = &t->corpus->unlabelled;
    size_t count = part->count < DOCUMENTS_MOST ? part->count : DOCUMENTS_MOST;
    const struct nb_document_numbers *n = t->guard->numbers;
    t->values = calloc(count * n->count + 1, sizeof *t->values);
    if (t->values == NULL || guard_chosen_init(&t->unlabelled, count) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        size_t from = i * part->count / count;
        guard_choose_document(&t->unlabelled, part, from);
        if (n->count > 0)
            memcpy(t->values + i * n->count, n->values + from * n->count,
                   n->count * sizeof *t->values);
    }
    return 0;
}

static int make_room(struct nb_guard_trial *t)
{
    const struct nb_corpus *c = t->corpus;
    size_t longest = 0;
    for (size_t d = 0; d < c->labelled.count; d++)
        if (c->labelled.end[d] - c->labelled.begin[d] > longest)
            longest = c->labelled.end[d] - c->labelled.begin[d];
    size_t scores = ((size_t)t->count + 1) * t->measured * c->labels;
    t->scores = malloc((scores + 1) * sizeof *t->scores);
    t->counts = calloc((size_t)c->words * c->labels + 1, sizeof *t->counts);
    t->features = calloc(longest + 1, sizeof *t->features);
    t->labelled = calloc((size_t)t->guard->numbers->count * c->labels + 1, sizeof *t->labelled);
    if (t->scores == NULL || t->counts == NULL || t->features == NULL || t->labelled == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < scores; i++)
        t->scores[i] = -(double)INFINITY;
    return 0;
}

static int copy_weights(struct nb_guard_trial *t)
{
    const struct nb_published *p = t->guard->published;
    if (!nb_published_is_stacked(p))
        return 0;
    nb_stack_weights_read_lock(p->weights);
    t->weights = nb_stack_weights_with_new_twin(p->weights);
    nb_stack_weights_unlock(p->weights);
    return t->weights == NULL ? NB_NO_MEMORY : 0;
}

int nb_guard_trial_begin(struct nb_guard_trial *t)
{
    int rc = choose_unlabelled(t);
    if (rc == 0)
        choose_fold_count(t);
    if (rc == 0)
        rc = deal_folds(t);
    if (rc == 0)
        rc = copy_weights(t);
    return rc != 0 ? rc : make_room(t);
}

/* ---- a fold ---------------------------------------------------------------------------------- */

/* Copies the counts and takes the documents of a fold out of the copy. */
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

/* The same for numbers, if t->without has them. */
static int leave_numbers_out(struct nb_guard_trial *t)
{
    const struct nb_besides besides = {.list = {{t->without, -1}}, .count = 1};
    return nb_document_numbers_labelled(t->guard->numbers, t->corpus, t->guard->chain, &besides,
                                        &t->blend, t->labelled);
}

static int begin_fold(struct nb_guard_trial *t, uint32_t fold)
{
    const struct nb_corpus *c = t->corpus;
    struct nb_expected_columns columns = nb_corpus_columns(c);
    struct nb_em given;
    nb_expected_release(&t->without);
    guard_chosen_deinit(&t->fold);
    if (guard_chosen_init(&t->fold, c->labelled.count) != 0)
        return NB_NO_MEMORY;
    for (size_t d = 0; d < c->labelled.count; d++)
        if (t->folds[d] == fold)
            guard_choose_document(&t->fold, &c->labelled, d);
    leave_out(t);
    if (nb_em_given(t->fold.labels, t->fold.count, &given) != 0)
        return NB_NO_MEMORY;
    struct nb_em_documents documents = guard_documents(&t->fold, &c->labelled);
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
    struct nb_em_documents documents = guard_documents(&t->unlabelled, &c->unlabelled);
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
    const struct nb_parent_chain *chain = t->guard->chain;
    bool is_stacked = t->weights != NULL;
    if (chain->contributor_count == 0 || chain->contributors[0] != 0)
        return NB_CONFLICT;
    int rc = nb_parent_chain_blend_beside(chain, t->weights, besides, &t->blend);
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
    struct nb_parent_chain *chain = t->guard->chain;
    size_t size = 0;
    for (size_t i = t->fold.begin[document]; i < t->fold.end[document]; i++)
        t->features[size++] = (struct nb_feature){.id = c->ids[c->labelled.columns[i]],
                                                  .count = c->labelled.counts[i]};
    nb_parent_chain_lock(chain);
    int rc = t->scorer == NULL
                 ? score_blended(t, size, besides)
                 : nb_score(t->scorer, chain->live[0]->counts, t->features, size, &t->said, NULL);
    if (rc == 0)
        keep(t, &t->said, to);
    nb_parent_chain_unlock(chain);
    return rc == NB_CONFLICT ? 0 : rc; /* all documents were forgotten meanwhile */
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
