/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a verdict, for core/model/verdict_score.c, verdict_explain.c and
 * core/engine/classify.c. Thread rules as in core/model/verdict.h.
 */
#ifndef NB_CORE_MODEL_VERDICT_PARTS_H
#define NB_CORE_MODEL_VERDICT_PARTS_H

#include "core/model/known.h"
#include "core/model/parents.h"
#include "core/model/pooled.h"
#include "core/model/verdict.h"
#include "core/stack/levels.h"

struct nb_verdict_private {
    struct nb_engine *engine;
    struct nb_live *live; /* the model of the request; it and its chain own the labels' names */
    struct nb_parent_chain chain;
    /* The one model that decides: the model itself, or an ancestor if that alone has documents.
     * NULL: several have documents, and chain.blend decides. */
    struct nb_live *judge;
    struct nb_published *published;   /* borrowed; the settings and formulas of the decision */
    const struct nb_refined *refined; /* borrowed; expected counts, or NULL */
    struct nb_bag bag;
    uint32_t *rows;  /* owned; rows of the bag's features in the judge's counts ... */
    uint64_t *cells; /* owned; ... and their cells */
    /* The settings and the key that the bag was made with. */
    bool has_bag;
    struct nb_tokenizer_settings seen_by;
    unsigned char key[NB_KEY_BYTES];
    struct nb_scores scores; /* by the book */
    struct nb_stack_inputs inputs;
    struct nb_scores stacked;
    double *calibrated; /* owned; a model by the book: the probabilities that its map gives */
    size_t calibrated_room;
    bool is_prior; /* a stacked model knows no feature: `scores` decide, which are the prior */
    struct nb_scores passage_scores; /* of the ancestor that judges passages, if several decide */
    struct nb_stack_worst worst;     /* the passage that speaks most for spam; count 0: none */
    double raised;          /* by how much the passage raised the log-odds of spam; 0: it did not */
    uint32_t passage_place; /* of that label */
    struct nb_scores whole; /* by all of the text, for tell_passage */
    /* Features of the passage, with their rows, cells and places in the bag; owned. */
    struct nb_passage_features {
        struct nb_feature *features;
        uint32_t *rows, *places;
        uint64_t *cells;
        size_t size, feature_room, row_room, place_room, cell_room;
    } own;
    /* Of a model whose documents have several labels; owned. */
    struct {
        struct nb_multilabel_scores scores;
        struct nb_row_count *rows; /* features of the bag that have a row ... */
        uint32_t *places;          /* ... and their places in the bag */
        uint32_t *numbers;         /* by label of the verdict: its number in `scores` */
        double *probabilities, *log_odds;
        double *evidence; /* of each row */
        bool *is_given;
        size_t row_room, place_room, number_room, evidence_room, probability_room, log_odds_room,
            given_room;
    } several;
    double moderation;       /* factor that was applied to these scores and their evidence */
    struct nb_pooled pooled; /* for scores pooled with expected counts */
    struct nb_evidence *evidence;
    struct nb_levels levels;
    struct nb_known_seen seen;
    struct nb_features_coder *coder; /* owned; NULL until something is kept */
    size_t row_room, cell_room, label_room, document_room, evidence_room, explanation_room;
};

/* Prepares a verdict for another document: releases its references for the last one, and keeps the
 * memory. Returns 0 or NB_NO_MEMORY. */
int nb_verdict_prepare(struct nb_verdict *verdict, struct nb_engine *engine);

/* The formulas by the book of the judge. */
static inline struct nb_scorer *nb_verdict_scorer(const struct nb_verdict_private *p)
{
    return p->refined != NULL ? p->refined->scorer : p->published->scorer;
}

/* Scores the bag with the chain, in one pass over the counts under its read locks, and
 * explains the verdict with at most `most` tokens (0: no explanation). Returns 0, NB_CONFLICT
 * (nothing is learned yet) or NB_NO_MEMORY. */
int nb_verdict_score(struct nb_verdict *verdict, size_t most, struct nb_error *error);

/* The threshold at this place of the settings; INFINITY: no number is known that keeps the wished
 * precision. Sets *found (may be NULL) to the choice that was made for a wished precision. */
double nb_published_threshold(const struct nb_published *published, size_t place,
                              struct nb_wish *found);

/* Sets the explanation: the `most` strongest tokens, and the prior's row. Returns 0 or
 * NB_NO_MEMORY. */
int nb_verdict_explain(struct nb_verdict *verdict, size_t most);

/* Sorts the `most` strongest rows (by magnitude, ties by feature) to the front. Overwrites the rows
 * behind them, and `room`, which has space for `count` rows. No magnitude may be NaN, and there
 * must be fewer than 2^32 rows. Takes O(count log(most)) at worst, mostly O(count + most), and
 * least where rows of the same magnitude come in the order of their features. */
void nb_evidence_sort(struct nb_evidence *rows, size_t count, size_t most,
                      struct nb_evidence *room);

#endif
