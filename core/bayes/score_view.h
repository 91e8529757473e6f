/* SPDX-License-Identifier: Apache-2.0
 *
 * The view of a model under settings, and what one feature adds to one label's score. For
 * core/bayes alone; thread rules as in core/bayes/scorer.h.
 */
#ifndef NB_CORE_BAYES_SCORE_VIEW_H
#define NB_CORE_BAYES_SCORE_VIEW_H

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/bayes/attribute_scores.h"
#include "core/bayes/estimate.h"
#include "core/bayes/expected.h"
#include "core/counts/counts.h"

/* A label that has documents, under the settings and the counts of one generation. */
struct nb_score_label {
    uint32_t label;
    uint64_t documents;
    uint64_t sum;     /* n_v, or d_v with the binary model, of the used vocabulary */
    double prior;     /* ln P(v) */
    double base;      /* ln P(v), and with Bernoulli the score of a document without words */
    double zero_term; /* what a known word without counts for the label adds per position */
};

/* The data of a label that only a scorer with factors needs. */
struct nb_label_estimate {
    struct nb_addends addends; /* for all words, unless they differ by word */
    double added;              /* to the denominator */
    uint64_t certain;          /* Bernoulli: number of words whose estimate is 1 */
    double documents, sum;     /* as in nb_score_label, with the counts beside the model's */
};

/* The position of a label that the view does not have. */
#define NB_NOT_SCORED UINT32_MAX

struct nb_score_view {
    struct nb_score_label *labels;       /* owned; labels with documents, by name */
    uint32_t *position;                  /* owned; by label number */
    uint32_t size, room;                 /* `room`: capacity of the arrays */
    struct nb_label_estimate *estimates; /* owned; by position; NULL: without factors */
    uint64_t vocabulary;                 /* |V| of the used words */
    uint64_t sum;                        /* over all labels */
    double shared_documents, shared_sum; /* with factors: over all labels, with the counts beside */
    bool skips;
    struct nb_word_rank skipped; /* with skip_top: the last word that is left out */
};

struct nb_scorer {
    struct nb_settings settings; /* owned */
    bool filters;                /* min_count or skip_top leave words out */
    double addend;               /* added to counts: core/bayes/estimate.h */
    bool has_factors; /* scores are products of factors: the settings are not plain, or there are
                         counts beside the model's */
    struct nb_besides besides; /* referenced */
    struct nb_log_table logs;  /* ln(i + addend); grows with the view */
    /* The view changes under the mutex, when the model's generation has moved on. The
     * generation moves only while no reader has the model's read lock, so no reader sees a view
     * change. */
    pthread_mutex_t mutex;
    _Atomic uint64_t generation; /* of the view; 0: none yet */
    struct nb_score_view view;
    struct nb_attribute_scores attributes; /* changes with the view */
    atomic_size_t view_bytes;
};

/* Returns ln(count + addend); at least one of them is not 0. */
static inline double nb_log_of(const struct nb_scorer *s, uint64_t count)
{
    return nb_log_table_at(&s->logs, count);
}

/* Whether the settings leave a row of the vocabulary in, given its occurrences in all labels. */
static inline bool nb_score_view_uses(const struct nb_scorer *s, const struct nb_score_view *view,
                                      uint64_t id, uint64_t occurrences)
{
    if (occurrences < s->settings.min_count)
        return false;
    return !view->skips || nb_word_rank_is_behind(occurrences, id, &view->skipped);
}

/* Whether the fast path for two labels applies to a model under these settings. */
static inline bool nb_scorer_has_two_labels(const struct nb_scorer *s, const struct nb_model *model)
{
    return s->view.size == 2 && nb_model_label_count(model) == 2 && !s->has_factors &&
           !s->filters && s->settings.event_model == NB_EVENT_MULTINOMIAL;
}

/* Returns what a word's count for one label adds to the score, per position, beyond what a count of
 * 0 adds, under an event model. `all` is the word's occurrences in all labels (complement only). */
static inline __attribute__((always_inline)) double
nb_correction_by(enum nb_event_model event, const struct nb_scorer *s, uint64_t documents,
                 struct nb_cell cell, uint64_t all)
{
    uint64_t absent;
    switch (event) {
    case NB_EVENT_BINARY:
        return nb_log_of(s, cell.documents) - s->logs.logs[0];
    case NB_EVENT_BERNOULLI:
        absent = documents > cell.documents ? documents - cell.documents : 0;
        return (nb_log_of(s, cell.documents) - nb_log_of(s, absent)) -
               (s->logs.logs[0] - nb_log_of(s, documents));
    case NB_EVENT_COMPLEMENT:
        return nb_log_of(s, all) - nb_log_of(s, all - cell.occurrences);
    case NB_EVENT_MULTINOMIAL:
        break;
    }
    return nb_log_of(s, cell.occurrences) - s->logs.logs[0];
}

/* As nb_correction_by, with the scorer's event model. */
static inline double nb_correction(const struct nb_scorer *s, uint64_t documents,
                                   struct nb_cell cell, uint64_t all)
{
    return nb_correction_by((enum nb_event_model)s->settings.event_model, s, documents, cell, all);
}

/* How many times a word of a document is counted: models of presence count it once. */
static inline uint32_t nb_weight_of(const struct nb_scorer *s, uint32_t count)
{
    bool presence =
        s->settings.event_model == NB_EVENT_BINARY || s->settings.event_model == NB_EVENT_BERNOULLI;
    return presence ? 1 : count;
}

/* ---- a scorer with factors: core/bayes/estimate.h --------------------------------------- */

/* A word of a document. */
struct nb_factor_word {
    struct nb_row row;
    uint32_t number;           /* of the row */
    uint32_t weight;           /* how many times the document counts it */
    double all;                /* occurrences in all labels */
    struct nb_addends addends; /* set if addends differ by word */
};

/* Returns how often the feature of a row occurs, in the model's documents and those beside them,
 * without their weights. */
static inline uint64_t nb_score_occurrences(const struct nb_scorer *s, const struct nb_model *model,
                                            struct nb_row row, uint32_t number)
{
    uint64_t own = nb_counts_occurrences(model, row);
    if (s->besides.count == 0)
        return own;
    int64_t all = (int64_t)own + nb_besides_occurrences(&s->besides, number, row.id);
    return all > 0 ? (uint64_t)all : 0;
}

/* Whether a row is in the used vocabulary. */
static inline bool nb_score_uses(const struct nb_scorer *s, const struct nb_model *model,
                                 const struct nb_score_view *view, uint32_t number)
{
    struct nb_row row = nb_model_row(model, number);
    bool is_token = nb_field_is_token(nb_feature_field(row.id));
    if (s->besides.count == 0 && (!nb_counts_any(row) || !is_token || !s->filters))
        return nb_counts_any(row) && is_token;
    uint64_t all = is_token ? nb_score_occurrences(s, model, row, number) : 0;
    return all > 0 && nb_score_view_uses(s, view, row.id, all);
}

static inline struct nb_factor_word nb_factor_word_of(const struct nb_scorer *s,
                                                      const struct nb_model *model,
                                                      const struct nb_score_view *view,
                                                      uint32_t number, uint32_t weight)
{
    struct nb_row row = nb_model_row(model, number);
    struct nb_expected_cell beside =
        nb_besides_row(&s->besides, number, row.id, view->position, nb_model_label_count(model));
    struct nb_factor_word word = {.row = row,
                                  .number = number,
                                  .weight = weight,
                                  .all = (double)nb_counts_occurrences(model, row) +
                                         beside.occurrences};
    if (!nb_estimate_is_by_word(&s->settings))
        return word;
    bool presence = nb_weight_of(s, 2) == 1;
    bool bernoulli = s->settings.event_model == NB_EVENT_BERNOULLI;
    double having = (double)nb_counts_documents(model, row) + beside.documents;
    double mine = presence ? having : word.all;
    double of = bernoulli ? view->shared_documents : view->shared_sum;
    double share = fmax(fmin(mine / of, 1), 0); /* outside 0 to 1 only by rounding */
    word.addends = nb_estimate_addends_of_share(s->settings.smoothing, share);
    return word;
}

/* Returns the addends of the word for the label at a position. */
static inline struct nb_addends nb_addends_of(const struct nb_scorer *s,
                                              const struct nb_score_view *view, uint32_t position,
                                              const struct nb_factor_word *word)
{
    bool is_by_word = nb_estimate_is_by_word(&s->settings);
    return is_by_word ? word->addends : view->estimates[position].addends;
}

/* Returns the counts of the word for the label at a position. */
static inline struct nb_word_counts nb_score_counts(const struct nb_scorer *s,
                                                    const struct nb_model *model,
                                                    const struct nb_score_view *view,
                                                    uint32_t position,
                                                    const struct nb_factor_word *word)
{
    uint32_t label = view->labels[position].label;
    struct nb_cell own = nb_counts_of(model, word->row, label);
    struct nb_expected_cell beside =
        nb_besides_cell(&s->besides, word->number, word->row.id, label);
    return (struct nb_word_counts){.occurrences = fmax(own.occurrences + beside.occurrences, 0),
                                   .documents = fmax(own.documents + beside.documents, 0),
                                   .all = word->all,
                                   .of = view->estimates[position].documents};
}

/* Returns the word's factor of the likelihood of the label at a position. */
static inline struct nb_factor nb_factor_of(const struct nb_scorer *s, const struct nb_model *model,
                                            const struct nb_score_view *view, uint32_t position,
                                            const struct nb_factor_word *word)
{
    struct nb_word_counts counts = nb_score_counts(s, model, view, position, word);
    struct nb_addends addends = nb_addends_of(s, view, position, word);
    if (s->settings.predict == NB_PREDICT_INTEGRATE)
        return (struct nb_factor){
            .log = nb_log_rising(counts.occurrences + addends.present, word->weight)};
    return nb_estimate_counted((enum nb_event_model)s->settings.event_model, addends, &counts,
                               word->weight);
}

/* Returns what each of a document's `known` positions adds to the score besides its factor. */
static inline double nb_position_term(const struct nb_scorer *s, const struct nb_score_view *view,
                                      uint32_t position, uint64_t known)
{
    const struct nb_score_label *label = &view->labels[position];
    if (s->settings.predict != NB_PREDICT_INTEGRATE)
        return label->zero_term;
    double size = view->estimates[position].sum + view->estimates[position].added;
    return known == 0 ? 0 : -nb_log_rising(size, known) / (double)known;
}

#endif
