/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/order.h"

#include <assert.h>
#include <math.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/stack/stack.h"

/* Measured on SpamAssassin's corpus, 20 Newsgroups, Enron 1 and 2 and SMS: see core/EXPERIMENTS.md.
 */
static const uint64_t least_others = 2; /* a document needs so many others of its label to teach */
static const double most_odds = 8;      /* recent odds / all odds, above which w is below 1 */
static const double fading = 1.0 / 20;  /* share that recent counts lose with each document */
static const double recent_prior = 2;   /* documents added to the recent ones as a prior */
static const uint64_t small = 1000;     /* most documents of a small model */
static const double least_turnover = 4; /* least k_v for a refit, or revised documents; ... */
static const double new_share = 1;      /* ... and least k_v as a share of D_v - k_v */
static const double early_share = 0.25; /* the same for the first `early` documents */
static const double early = 200;
/* A refit of a small model also needs changes to this share of all documents: in a mixed stream, in
 * its first documents, and in a stream that is not mixed. */
static const double mixed_share = 0.5, mixed_early_share = 0.2, turned_share = 0.05;
/* Number of documents to which a model is fitted as it grows: a small one in a mixed stream, a
 * large one in any; or so many for each label if that is more. */
static const uint64_t mixed_sample = 250, large_sample = 1000, sample_of_label = 25;
static const double skewed_share = 0.2;
static const double label_share = 0.02; /* least S_v, as a share of all documents, and ... */
static const double mostly = 0.75;      /* ... as a share of D_v */
static const double spacing = 0.1;      /* least N for that, as a share of all documents */
static const double idle_share = 0.02;
static const double revised_share = 0.1;
static const double corrected_share = 0.01;
/* Bounds for a pass of the twin: share not taught, of a small model and of a large one, and numbers
 * of documents. */
static const double pass_share = 0.05, large_pass_share = 0.2;
static const uint64_t tiny_mixed = 100, tiny = 250, large = 5000, largest = 30000;
static const double skew_fading = 1.0 / 10000; /* share that SKEW loses with each document */
static const double asked_from = 1e9;          /* seeds of refits on request begin here */
static const double most_rewound = 1024;
static const uint64_t most_lessons = 600000; /* most documents * labels for a pass above `large` */

/* Indexes of the model's numbers. They are stored: never renumber. */
enum {
    CHANGES, /* documents counted so far; recent counts fade with each */
    RECENT,  /* C */
    CREDIT,
    NOT_TAUGHT, /* S */
    LEARNED,    /* N */
    TURNOVER,   /* sum of the k_v */
    RIPE,       /* above 0: some k_v is large enough, or a label has begun to teach. If some k_v is
                   most of its D_v: the largest of these */
    REVISED,    /* documents that were relabelled, replaced or forgotten */
    REFITS,     /* refits that began */
    IS_REFITTING,
    IS_STALE,
    FINGERPRINT,
    TWIN_NOT_TAUGHT, /* sum of 1 - w since the twin's last pass */
    TWIN_IS_DUE,     /* the refit must end with a pass */
    REVISED_BEFORE,  /* REVISED, when the present refit began */
    SKEW,            /* sum of 1 - w of all documents, fading */
    DRAWS,           /* seed of the present refit's draws */
    REWOUND,         /* CHANGES, and the documents that were learned again since (rewind.h) */
    FITTED,          /* CHANGES, when the last refit ended */
    LABELS_FROM = 20
};

/* Indexes of a label's numbers, from LABELS_FROM + label * PER_LABEL on. */
enum {
    LABEL_RECENT,   /* c_v when the label was last counted */
    LABEL_CHANGES,  /* CHANGES at that time; so a document changes the numbers of its label only */
    LABEL_TURNOVER, /* k_v */
    LABEL_REFITS,   /* REFITS at that time; after a later refit k_v is 0 */
    PER_LABEL = 4
};

_Static_assert(LABELS_FROM + PER_LABEL * NB_LABELS_MOST <= NB_STACK_ORDER_MOST, "all have a place");

static size_t place_of(uint32_t label, unsigned what)
{
    return LABELS_FROM + (size_t)label * PER_LABEL + what;
}

/* The present c_v. */
static double recent_of(const struct nb_weights *order, uint32_t label)
{
    double recent = nb_weights_at(order, place_of(label, LABEL_RECENT));
    double since =
        nb_weights_at(order, CHANGES) - nb_weights_at(order, place_of(label, LABEL_CHANGES));
    return recent * pow(1 - fading, since);
}

double nb_order_weight(const struct nb_weights *order, uint32_t label, uint64_t of_label,
                       uint64_t documents)
{
    assert(of_label <= documents);
    double pi = ((double)of_label + 1) / ((double)documents + 2);
    double q = (recent_of(order, label) + recent_prior * pi) /
               (nb_weights_at(order, RECENT) + recent_prior);
    return fmin(1, most_odds * (pi / (1 - pi)) / (q / (1 - q)));
}

double nb_stored_score_weight(struct nb_string stored, unsigned nth)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    (void)nb_unpack_varint(&r);
    (void)nb_unpack_double(&r);
    while (r.at < r.end && !r.failed) {
        bool is_weight = nb_unpack_varint(&r) == NB_LABELS_MOST;
        double value = nb_unpack_double(&r);
        if (is_weight && nth-- == 0)
            return value > 0 && value <= 1 ? value : 1;
    }
    return 1;
}

/* Allocates the numbers of the model, and those of a label. */
static int make_room(struct nb_weights *order, uint32_t label)
{
    int rc = nb_weights_grow(order, place_of(label + 1, 0), NULL);
    return rc != 0 ? rc : nb_weights_reserve(order, LABELS_FROM + PER_LABEL);
}

static void add(struct nb_weights *order, size_t place, double amount)
{
    nb_weights_set(order, place, nb_weights_at(order, place) + amount);
}

static void raise_to(struct nb_weights *order, size_t place, double least)
{
    nb_weights_set(order, place, fmax(nb_weights_at(order, place), least));
}

int nb_order_count(struct nb_weights *order, uint32_t label, double weight, uint64_t documents)
{
    int rc = make_room(order, label);
    if (rc != 0)
        return rc;
    double recent = recent_of(order, label) * (1 - fading) + 1;
    add(order, CHANGES, 1);
    nb_weights_set(order, place_of(label, LABEL_RECENT), recent);
    nb_weights_set(order, place_of(label, LABEL_CHANGES), nb_weights_at(order, CHANGES));
    nb_weights_set(order, RECENT, nb_weights_at(order, RECENT) * (1 - fading) + 1);
    add(order, CREDIT, 1 - weight);
    add(order, TWIN_NOT_TAUGHT, 1 - weight);
    nb_weights_set(order, SKEW, nb_weights_at(order, SKEW) * (1 - skew_fading) + 1 - weight);
    if (documents > small) {
        add(order, NOT_TAUGHT, 1 - weight);
        add(order, LEARNED, 1);
    }
    return 0;
}

bool nb_order_teaches(uint64_t others)
{
    return others >= least_others;
}

bool nb_order_begins_to_teach(uint64_t documents)
{
    return documents == least_others + 1;
}

bool nb_order_take_credit(struct nb_weights *order)
{
    if (nb_weights_at(order, CREDIT) < 1)
        return false;
    nb_weights_set(order, CREDIT, nb_weights_at(order, CREDIT) - 1);
    return true;
}

bool nb_order_is_small(uint64_t documents)
{
    return documents <= small;
}

bool nb_order_is_skewed(const struct nb_weights *order)
{
    double changes = nb_weights_at(order, CHANGES);
    double all = (1 - pow(1 - skew_fading, changes)) / skew_fading;
    return changes > 0 && nb_weights_at(order, SKEW) >= skewed_share * all;
}

/* Whether every document has taught with its whole weight. */
static bool is_mixed(const struct nb_weights *order)
{
    return !(nb_weights_at(order, SKEW) > 0);
}

struct nb_random nb_order_random(const struct nb_weights *order, enum nb_order_draw what)
{
    double count = nb_weights_at(order, what == NB_DRAW_LESSON ? CHANGES : DRAWS);
    return nb_random_of(what, (uint64_t)count);
}

/* ---- refits ---------------------------------------------------------------------------------- */

static double turnover_of(const struct nb_weights *order, uint32_t label)
{
    double then = nb_weights_at(order, place_of(label, LABEL_REFITS));
    bool is_old = then < nb_weights_at(order, REFITS);
    return is_old ? 0 : nb_weights_at(order, place_of(label, LABEL_TURNOVER));
}

int nb_order_note(struct nb_weights *order, uint32_t label, uint64_t of_label, double amount,
                  bool back)
{
    int rc = make_room(order, label);
    if (rc != 0)
        return rc;
    double turnover = turnover_of(order, label) + amount;
    nb_weights_set(order, place_of(label, LABEL_TURNOVER), turnover);
    nb_weights_set(order, place_of(label, LABEL_REFITS), nb_weights_at(order, REFITS));
    add(order, TURNOVER, amount);
    add(order, REVISED, back);
    double share = nb_weights_at(order, CHANGES) <= early ? early_share : new_share;
    if (turnover >= fmax(least_turnover, share * ((double)of_label - turnover)))
        raise_to(order, RIPE, turnover >= mostly * (double)of_label ? turnover : 1);
    return 0;
}

int nb_order_note_forgotten(struct nb_weights *order, uint32_t label)
{
    int rc = make_room(order, label);
    double turnover = turnover_of(order, label), all = nb_weights_at(order, TURNOVER);
    if (rc != 0)
        return rc;
    if (turnover > 0)
        nb_weights_set(order, place_of(label, LABEL_TURNOVER), fmax(turnover - 1, 0));
    if (turnover > 0)
        nb_weights_set(order, TURNOVER, fmax(all - 1, 0));
    add(order, REVISED, 1);
    return 0;
}

bool nb_order_may_rewind(const struct nb_weights *order, size_t documents)
{
    double changes = nb_weights_at(order, CHANGES);
    return (double)documents < changes - nb_weights_at(order, FITTED) &&
           nb_weights_at(order, REWOUND) - changes < most_rewound;
}

int nb_order_note_rewind(struct nb_weights *order, size_t documents)
{
    int rc = make_room(order, 0);
    if (rc != 0)
        return rc;
    raise_to(order, REWOUND, nb_weights_at(order, CHANGES));
    add(order, REWOUND, (double)documents);
    return 0;
}

int nb_order_note_start(struct nb_weights *order)
{
    int rc = make_room(order, 0);
    if (rc == 0)
        raise_to(order, RIPE, 1);
    return rc;
}

static bool has_grown(const struct nb_weights *order, double all)
{
    double mixed = nb_weights_at(order, CHANGES) <= early ? mixed_early_share : mixed_share;
    double share = is_mixed(order) ? mixed : turned_share;
    return nb_weights_at(order, RIPE) > 0 && nb_weights_at(order, TURNOVER) >= share * all;
}

static bool has_missed_much(const struct nb_weights *order, double all)
{
    return nb_weights_at(order, NOT_TAUGHT) >= skewed_share * all ||
           (nb_weights_at(order, RIPE) >= label_share * all &&
            nb_weights_at(order, LEARNED) >= spacing * all);
}

enum nb_order_reason nb_order_reason(const struct nb_weights *order, uint64_t documents)
{
    double all = (double)documents;
    if (nb_weights_at(order, REVISED) > revised_share * all)
        return NB_ORDER_REVISED;
    if (documents > small)
        return has_missed_much(order, all) ? NB_ORDER_SKEWED : NB_ORDER_NONE;
    return has_grown(order, all) ? NB_ORDER_GROWN : NB_ORDER_NONE;
}

bool nb_order_wants_idle(const struct nb_weights *order, uint64_t documents)
{
    double not_taught = nb_weights_at(order, NOT_TAUGHT);
    double all = (double)documents;
    if (nb_weights_at(order, REVISED) >= fmax(least_turnover, corrected_share * all))
        return true;
    return documents > small && not_taught >= idle_share * all &&
           not_taught >= nb_weights_at(order, LEARNED) / 2;
}

int nb_order_begin_refit(struct nb_weights *order, enum nb_order_refit why, uint64_t documents)
{
    int rc = make_room(order, 0);
    if (rc != 0)
        return rc;
    nb_weights_set(order, NOT_TAUGHT, 0);
    nb_weights_set(order, LEARNED, 0);
    nb_weights_set(order, TURNOVER, 0);
    nb_weights_set(order, RIPE, 0);
    add(order, REVISED_BEFORE, nb_weights_at(order, REVISED));
    nb_weights_set(order, REVISED, 0);
    add(order, REFITS, 1);
    nb_weights_set(order, DRAWS,
                   why == NB_REFIT_ASKED ? asked_from + (double)documents
                                         : nb_weights_at(order, REFITS));
    nb_weights_set(order, IS_REFITTING, 1);
    if (why == NB_REFIT_STALE)
        nb_weights_set(order, IS_STALE, 1);
    if (why == NB_REFIT_ASKED || (why != NB_REFIT_OF_GROWTH && documents <= largest))
        nb_weights_set(order, TWIN_IS_DUE, 1);
    return 0;
}

uint64_t nb_order_sample_most(const struct nb_weights *order, enum nb_order_refit why,
                              uint64_t documents, uint32_t labels)
{
    uint64_t of_labels = sample_of_label * labels;
    uint64_t least = documents > small ? large_sample : mixed_sample;
    if (why != NB_REFIT_OF_GROWTH || (documents <= small && !is_mixed(order)))
        return UINT64_MAX;
    return of_labels > least ? of_labels : least;
}

int nb_order_end_refit(struct nb_weights *order, double fingerprint)
{
    int rc = make_room(order, 0);
    if (rc != 0)
        return rc;
    nb_weights_set(order, IS_REFITTING, 0);
    nb_weights_set(order, IS_STALE, 0);
    nb_weights_set(order, TWIN_IS_DUE, 0);
    nb_weights_set(order, REVISED_BEFORE, 0);
    nb_weights_set(order, FINGERPRINT, fingerprint);
    nb_weights_set(order, FITTED, nb_weights_at(order, CHANGES));
    return 0;
}

bool nb_order_is_refitting(const struct nb_weights *order)
{
    return nb_weights_at(order, IS_REFITTING) > 0;
}

bool nb_order_is_stale(const struct nb_weights *order, uint64_t documents)
{
    double revised = nb_weights_at(order, REVISED_BEFORE) + nb_weights_at(order, REVISED);
    return nb_weights_at(order, IS_STALE) > 0 ||
           (nb_order_is_refitting(order) && revised > revised_share * (double)documents);
}

double nb_order_fingerprint(const struct nb_weights *order)
{
    return nb_weights_at(order, FINGERPRINT);
}

int nb_order_set_fingerprint(struct nb_weights *order, double fingerprint)
{
    int rc = make_room(order, 0);
    if (rc == 0)
        nb_weights_set(order, FINGERPRINT, fingerprint);
    return rc;
}

int nb_order_forget(struct nb_weights *order)
{
    if (!(nb_order_fingerprint(order) > 0) && !nb_order_is_refitting(order))
        return 0;
    return nb_order_end_refit(order, 0);
}

/* ---- the twin's pass ------------------------------------------------------------------------- */

bool nb_order_wants_pass(const struct nb_weights *order, uint64_t documents, uint32_t labels)
{
    double not_taught = nb_weights_at(order, TWIN_NOT_TAUGHT);
    if (nb_weights_at(order, TWIN_IS_DUE) > 0 ||
        (documents <= largest && nb_order_is_stale(order, documents)))
        return true;
    if (documents <= small)
        return documents <= (is_mixed(order) ? tiny_mixed : tiny) ||
               not_taught >= pass_share * (double)documents;
    bool is_in_bounds =
        documents <= large || (documents <= largest && documents * labels <= most_lessons);
    return is_in_bounds && not_taught >= large_pass_share * (double)documents;
}

unsigned nb_order_pass_times(const struct nb_weights *order)
{
    bool is_asked = nb_weights_at(order, DRAWS) >= asked_from;
    return is_asked || nb_weights_at(order, REVISED_BEFORE) > 0 ? 2 : 1;
}

int nb_order_begin_pass(struct nb_weights *order)
{
    int rc = make_room(order, 0);
    if (rc != 0)
        return rc;
    nb_weights_set(order, TWIN_NOT_TAUGHT, 0);
    nb_weights_set(order, TWIN_IS_DUE, 1); /* in case the pass is lost */
    return 0;
}

void nb_drawn_deinit(struct nb_drawn *drawn)
{
    nb_entry_deinit(&drawn->entry);
    nb_rows_deinit(&drawn->rows);
    nb_stack_inputs_deinit(&drawn->inputs);
}

int nb_drawn_entry(struct nb_drawn *drawn, const struct nb_live *live, const struct nb_view *view,
                   uint64_t number)
{
    const struct nb_change *change = &drawn->entry.change;
    int rc = nb_ledger_read(view, number, &drawn->entry, NULL);
    if (rc == 0 && (change->kind != NB_CHANGE_TRAIN || change->model != live->number ||
                    change->label >= nb_model_label_count(live->counts)))
        rc = NB_NOT_FOUND;
    return rc;
}

/* The features of the entry. */
static int read_features(struct nb_drawn *drawn, const struct nb_live *live)
{
    return nb_bag_decode(drawn->entry.change.bag, nb_model_rows(live->counts), &drawn->rows, NULL);
}

static int put_inputs(struct nb_drawn *drawn, const struct nb_live *live,
                      const struct nb_published *published, const struct nb_stack_weights *twin,
                      bool keeps)
{
    nb_stack_inputs_twin(&drawn->inputs, twin, keeps);
    return nb_stack_inputs_of_rows(published->stack, live->counts, drawn->rows.counts,
                                   drawn->rows.size, drawn->entry.change.label, &drawn->inputs);
}

int nb_drawn_unless_missing(int code)
{
    return code == NB_NOT_FOUND || code == NB_CORRUPT || code == NB_CONFLICT ? 0 : code;
}

int nb_drawn_read(struct nb_drawn *drawn, const struct nb_live *live,
                  const struct nb_published *published, const struct nb_view *view, uint64_t number,
                  const struct nb_stack_weights *twin, bool *found)
{
    int rc = nb_drawn_entry(drawn, live, view, number);
    if (rc == 0)
        rc = read_features(drawn, live);
    if (rc == 0)
        rc = put_inputs(drawn, live, published, twin, true);
    *found = rc == 0;
    return nb_drawn_unless_missing(rc);
}

bool nb_drawn_keeps(const struct nb_model *counts, const struct nb_stack_weights *twin)
{
    return twin != NULL &&
           nb_stack_twin_keeps(twin, nb_model_label_count(counts), nb_model_documents_all(counts));
}

int nb_drawn_rest(struct nb_drawn *drawn, const struct nb_live *live,
                  const struct nb_stack_weights *twin)
{
    int rc = read_features(drawn, live);
    if (rc != 0)
        return rc;
    drawn->others = nb_model_documents(live->counts, drawn->entry.change.label) - 1;
    if (!nb_order_teaches(drawn->others))
        return NB_NOT_FOUND;
    return put_inputs(drawn, live, live->published, twin, nb_drawn_keeps(live->counts, twin));
}

int nb_drawn_lesson(struct nb_drawn *drawn, const struct nb_live *live, const struct nb_view *view,
                    uint64_t number, const struct nb_stack_weights *twin, bool *found)
{
    drawn->others = 0;
    int rc = nb_drawn_entry(drawn, live, view, number);
    if (rc == 0)
        rc = nb_drawn_rest(drawn, live, twin);
    *found = rc == 0;
    return nb_drawn_unless_missing(rc);
}

int nb_drawn_teach_twin(const struct nb_live *live, struct nb_stack_weights *weights,
                        struct nb_stack_inputs *inputs, const struct nb_rows *rows, uint32_t label,
                        double weight)
{
    bool teaches;
    int rc = nb_stack_twin_weigh(weights, inputs, label, weight, &teaches);
    if (rc != 0 || !teaches)
        return rc;
    if (!inputs->is_kept) {
        nb_stack_inputs_twin(inputs, weights, true);
        rc = nb_stack_inputs_of_rows(live->published->stack, live->counts, rows->counts, rows->size,
                                     label, inputs);
    }
    return rc != 0 ? rc : nb_stack_twin_learn_features(weights, inputs, label, weight);
}

int nb_drawn_teach(const struct nb_live *live, struct nb_stack_weights *weights,
                   struct nb_stack_inputs *inputs, const struct nb_rows *rows, uint32_t label,
                   double weight)
{
    int rc = nb_drawn_teach_twin(live, weights, inputs, rows, label, weight);
    return rc != 0 ? rc : nb_stack_learn(weights, inputs, label, weight);
}
