/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the stack, for core/stack/stack*.c, core/stack/blend and their tests. Rules
 * as in core/stack/stack.h.
 */
#ifndef NB_CORE_STACK_STACK_PRIVATE_H
#define NB_CORE_STACK_STACK_PRIVATE_H

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/bayes/estimate.h"
#include "core/bayes/numbers.h"
#include "core/counts/counts.h"
#include "core/stack/stack.h"
#include "core/stack/stack_evidence.h"
#include "core/stack/weights.h"

/* How an expert reads the counts. The powers of the default settings are computed without pow(). */
enum nb_stack_power_kind { NB_POWER_1, NB_POWER_1_5, NB_POWER_2, NB_POWER_ANY };
struct nb_stack_reading {
    double power;
    enum nb_stack_power_kind kind;
    struct nb_log_table logs; /* ln(i + smoothing); grows with the view */
};

/* Data that stay the same while the counts do not change. */
struct nb_stack_view {
    uint32_t size;    /* labels that have documents */
    uint32_t room;    /* of `labels` */
    uint32_t *labels; /* owned; by name */
    /* Offsets are ln(T_v + a(V+1)) - ln(T - T_v + a(V+1)). With two labels there is one column: the
     * second's are minus the first's, to the bit. With more there is a column for each label
     * number, and with less there is none. */
    uint32_t columns;
    _Atomic uint32_t fields; /* bits 1u << field: fields whose offsets are computed */
    size_t offset_room;
    double *offsets; /* owned; [expert][field][column] */
    _Atomic bool has_numbers;
    struct nb_numbers numbers; /* if the settings allow bins; see nb_stack_numbers */
};

enum { NB_STACK_SHARES = 512 };

struct nb_stack {
    struct nb_stack_settings settings;
    struct nb_stack_reading *two, *many; /* owned; one for each expert of the bank */
    /* As in core/bayes/score_view.h: the view changes under the mutex, and only when no reader
     * uses it, because the generation only changes when no reader has the model's lock. */
    pthread_mutex_t mutex;
    _Atomic uint64_t generation;
    struct nb_stack_view view;
    atomic_size_t view_bytes;
    const struct nb_settings *cutting; /* borrowed: rules for bins; NULL: numbers are not cut */
    float shares[NB_STACK_SHARES];     /* nb_stack_share of small numbers of features */
};

static inline const struct nb_stack_bank *nb_stack_bank(const struct nb_stack_settings *s,
                                                        uint32_t labels)
{
    return labels <= 2 ? &s->two : &s->many;
}

static inline const struct nb_stack_reading *nb_stack_readings(const struct nb_stack *s,
                                                               uint32_t labels)
{
    return labels <= 2 ? s->two : s->many;
}

/* h of core/stack/stack.h: the factor of the inputs in a label's score. */
static inline double nb_stack_half(uint32_t labels)
{
    return labels == 2 ? 0.5 : 1.0;
}

static inline double nb_stack_log(const struct nb_stack_reading *r, uint64_t count)
{
    return nb_log_table_at(&r->logs, count);
}

/* The part of r_v that depends on the feature. `documents` documents of the label have it, and
 * `all` documents of all labels. */
static inline double nb_stack_gain(const struct nb_stack_reading *reading, uint64_t documents,
                                   uint64_t all)
{
    return nb_stack_log(reading, documents) - nb_stack_log(reading, all - documents);
}

/* e = sign(r) |r|^p. */
static inline double nb_stack_power(const struct nb_stack_reading *reading, double r)
{
    switch (reading->kind) {
    case NB_POWER_1:
        return r;
    case NB_POWER_1_5:
        return r * sqrt(fabs(r));
    case NB_POWER_2:
        return r * fabs(r);
    case NB_POWER_ANY:
        break;
    }
    return copysign(pow(fabs(r), reading->power), r);
}

/* Sets *view to the view of the current counts, without offsets. Returns 0 or NB_NO_MEMORY. */
int nb_stack_view(struct nb_stack *stack, const struct nb_model *model,
                  const struct nb_stack_view **view);
/* Computes the offsets of a field unless they exist. They are computed on demand: a document has
 * few fields, and a thousand labels need a thousand logarithms in each. */
void nb_stack_view_field(struct nb_stack *stack, const struct nb_model *model, unsigned field);

/* Sets *numbers to the model's numbers in bins, for the latest view; to NULL if the settings allow
 * no bins. Bins are made when the first document has a number. Returns 0 or NB_NO_MEMORY. */
int nb_stack_numbers(struct nb_stack *stack, const struct nb_model *model,
                     const struct nb_numbers **numbers);

/* The part of the counts that belongs to a left-out document, or to all documents of its label. */
struct nb_stack_without {
    uint32_t label;
    bool is_whole;                /* the label is left out with all its documents */
    uint32_t features[NB_FIELDS]; /* n_f: features of the document */
    uint32_t unique[NB_FIELDS];   /* u_f: those that no other document has */
};

/* The difference of two counts, at least 0. It could be below 0 only if the counts no longer
 * contain the document: a reader's snapshot may be older than the counts. */
static inline uint64_t nb_stack_less(uint64_t count, uint64_t out)
{
    return count > out ? count - out : 0;
}

/* The counts of a left-out document in one field or one attribute. */
struct nb_stack_taken {
    uint32_t label; /* NB_STACK_NO_LABEL: no document is left out */
    uint32_t features, unique;
};
static inline struct nb_stack_taken nb_stack_taken(const struct nb_stack_without *without,
                                                   unsigned field)
{
    if (without == NULL)
        return (struct nb_stack_taken){.label = NB_STACK_NO_LABEL};
    return (struct nb_stack_taken){without->label, without->features[field],
                                   without->unique[field]};
}

/* Returns the number of attributes that have a value in the document. */
uint32_t nb_stack_attribute_count(const struct nb_stack_inputs *inputs);

/* Returns m a of an expert. */
static inline double nb_stack_added(const struct nb_stack_expert *expert)
{
    return expert->share * expert->smoothing;
}

/* Computes the offsets of one field for one expert, for every column. `sum` is a field, or another
 * range that nb_model_presences and nb_model_vocabulary accept. `added`: m a. */
void nb_stack_put_offsets(const struct nb_stack_view *view, const struct nb_model *model,
                          struct nb_stack_taken taken, unsigned sum, double added, double *offsets);

/* Returns the offsets of a field for an expert, by column. */
static inline const double *nb_stack_offsets(struct nb_stack *stack, const struct nb_model *model,
                                             unsigned e, unsigned field)
{
    const struct nb_stack_view *view = &stack->view;
    if ((atomic_load_explicit(&view->fields, memory_order_acquire) >> field & 1u) == 0)
        nb_stack_view_field(stack, model, field);
    return view->offsets + ((size_t)e * NB_FIELDS + field) * view->columns;
}

/* Makes room for so many labels; old contents may be lost. Returns 0 or NB_NO_MEMORY. */
int nb_stack_inputs_room(struct nb_stack_inputs *inputs, uint32_t labels);

/* ---- the pass over a document ---------------------------------------------------------------- */

/* With two labels: a feature that some document other than the left-out one has. */
struct nb_stack_noted {
    uint32_t first, second; /* documents of each label */
    uint64_t id;
};

/* The evidence of a noted feature for the first label; that for the second is its negative, to the
 * bit. Explanations read it. */
struct nb_stack_said {
    double e[NB_STACK_EXPERTS]; /* 0 for experts not in use */
    double r;                   /* of the last expert in use */
    uint64_t place;             /* of the feature in the bag */
};

struct nb_stack_pass {
    struct nb_stack *stack;
    const struct nb_model *model;
    const struct nb_stack_view *view;
    const struct nb_stack_reading *readings;
    unsigned experts;
    bool are_roots;  /* with two labels: two experts, both of power 1.5 */
    bool is_summed;  /* with two labels: nb_stack_two_finish has nothing left to do */
    bool is_of_rows; /* with two labels: no explanation will be requested */
    struct nb_stack_inputs *inputs;
    const struct nb_stack_without *without; /* NULL: no document is left out */
    const double *offsets;                  /* with two labels: [expert][field] */
    struct nb_stack_evidence *twin;         /* NULL: there is no twin */
};

/* Prefetch distances. Between the prefetch of a row and its turn come its wide cells, then the
 * first cells of its run, and all of them when it is next: a row of a thousand labels has 16 KB,
 * and rows lie anywhere in memory. */
enum {
    NB_STACK_AHEAD_OF_WIDE = NB_MODEL_AHEAD * 3 / 4,
    NB_STACK_AHEAD_OF_CELLS = NB_MODEL_AHEAD / 2,
    NB_STACK_AHEAD_OF_REST = 1
};

/* Returns the id of a row; prefetches later rows, and the wide cells of nearer ones. */
static inline uint64_t nb_stack_id_of(const struct nb_stack_pass *p,
                                      const struct nb_row_count *rows, size_t size, size_t i)
{
    if (i + NB_MODEL_AHEAD < size)
        nb_packed_row_prefetch(nb_model_packed(p->model, rows[i + NB_MODEL_AHEAD].row));
    if (i + NB_STACK_AHEAD_OF_WIDE < size) {
        uint32_t later = rows[i + NB_STACK_AHEAD_OF_WIDE].row;
        __builtin_prefetch(
            nb_wides_at(p->model->wides.segments, later, nb_model_packed(p->model, later)->code));
    }
    return nb_model_packed(p->model, rows[i].row)->id;
}

/* Returns a row with its cells; prefetches later rows. */
static inline struct nb_row nb_stack_row_of(const struct nb_stack_pass *p,
                                            const struct nb_row_count *rows, size_t size, size_t i)
{
    (void)nb_stack_id_of(p, rows, size, i);
    return nb_model_row(p->model, rows[i].row);
}

/* ---- two labels: core/stack/stack_two.c ------------------------------------------------------ */

/* Begins with a document of `size` features. Returns 0 or NB_NO_MEMORY. */
int nb_stack_two_start(struct nb_stack_pass *p, size_t size);
/* Sums the evidence of a bag's features, or notes it; `known` as in nb_model_step_cells. */
void nb_stack_two_add(struct nb_stack_pass *p, const struct nb_feature *features, size_t size,
                      const struct nb_found *known);
/* Sums the evidence of all rows of a document, or notes it, and counts its features into `without`.
 * Returns how many rows belong to no field. */
size_t nb_stack_two_survey(struct nb_stack_pass *p, const struct nb_row_count *rows, size_t size,
                           struct nb_stack_without *without);
/* Puts the sums into the inputs, and those of the twin into its evidence. */
void nb_stack_two_finish(const struct nb_stack_pass *p);

/* ---- more than two labels: core/stack/stack_many.c ------------------------------------------- */

void nb_stack_scratch_free(struct nb_stack_scratch **scratch);
/* Makes room for a document of `size` features; if a document is left out, computes the offsets
 * without it. Returns 0 or NB_NO_MEMORY. */
int nb_stack_many_start(const struct nb_stack_pass *p, size_t size);
/* Writes the sums of a field so far: of each expert, and then of the twin, by label number; 0 if
 * the document does not have it. With NB_STACK_FEW_LABELS at most. */
void nb_stack_many_sums_of_field(const struct nb_stack_pass *p, unsigned field, double *to);
/* Notes a feature that D_w = `all` documents have, not counting the left-out one, and adds what its
 * cells contribute beyond cells of 0. */
void nb_stack_many_add(const struct nb_stack_pass *p, unsigned field, struct nb_row row,
                       uint64_t all);
/* Adds what the noted features would contribute to every label if all their cells were 0, and puts
 * the sums into the inputs (core/stack/stack_many.c). */
void nb_stack_many_finish(const struct nb_stack_pass *p);

/* With at most this many labels every row is treated as dense (stack_many.h), and passages are
 * judged. Measured with 20 labels. */
enum { NB_STACK_FEW_LABELS = 32 };

/* Returns scale / features^length; 0 without features. */
static inline double nb_stack_share(const struct nb_stack_settings *s, uint32_t features)
{
    return features == 0 ? 0 : s->scale / pow((double)features, s->length);
}

/* As nb_stack_share, with about seven digits; fast for passages, which are short. */
static inline double nb_stack_share_of(const struct nb_stack *stack, uint32_t features)
{
    return features < NB_STACK_SHARES ? (double)stack->shares[features]
                                      : nb_stack_share(&stack->settings, features);
}

/* ---- weights: places ------------------------------------------------------------------------- */

/* A set holds the weights of one expert of a bank, one for each group, and its loss. Every weight
 * has two places: its value, and the sum of its squared gradients. The biases of each expert are a
 * vector of their own, with two places for each label, so that a label without a bias there costs
 * nothing. */
enum {
    NB_STACK_SETS = 2 * NB_STACK_EXPERTS, /* sets for two labels, then sets for more */
    NB_STACK_LOSS = NB_STACK_GROUPS,      /* the column of L_e; its second place is 0 */
    NB_STACK_COLUMNS = NB_STACK_GROUPS + 1,
    NB_STACK_SHARED = NB_STACK_SETS * NB_STACK_COLUMNS * 2
};

/* The layout of stored weights, from the head record. */
struct nb_stack_layout {
    uint32_t sets, columns; /* numbers in the stored form; 0: no head has been read */
    bool is_ours;           /* the layout is that of this program */
    bool is_older;          /* the weights are of a form that is not used any more */
    /* Owned; by stored number, this program's number of the set or column; UINT32_MAX: unknown. */
    uint32_t *set_of, *column_of;
};

/* The last lesson (core/stack/stack_stored.c). */
struct nb_stack_lesson {
    struct nb_buffer kept; /* packed, as of the last commit; empty: there is none */
    struct nb_buffer next; /* packed, as of the next commit, if `is_new` */
    bool is_new;           /* it began, or was forgotten, since the last commit: */
    uint64_t document;     /* the document; 0: none */
    uint32_t before;       /* its label in the restored weights */
    struct nb_stack_mark from;
    bool is_exchanged;   /* `kept` differs from what is stored */
    atomic_size_t bytes; /* allocated; any thread may read it */
};

struct nb_stack_weights {
    pthread_rwlock_t *lock; /* &lock_storage */
    pthread_rwlock_t lock_storage;
    struct nb_stack_settings settings;
    struct nb_weights shared;                   /* NB_STACK_SHARED places; see nb_stack_place */
    struct nb_weights biases[NB_STACK_EXPERTS]; /* see nb_stack_bias_place */
    struct nb_weights order;                    /* see nb_stack_weights_order */
    struct nb_weights twin;                     /* places: enum nb_stack_twin_place */
    struct nb_weights twin_biases;              /* d; places as in `biases` */
    struct nb_weights attributes;               /* see nb_stack_attribute_place */
    struct nb_weights known;                    /* see nb_stack_weights_known */
    struct nb_weights margins;                  /* enum nb_passage_place (passages.h) */
    struct nb_slots slots;                      /* u */
    bool head_changed;                          /* the head record differs from the stored one */
    uint32_t stored_ranges;                     /* number of stored ranges of `shared` */
    struct nb_stack_layout layout;              /* of the stored weights being read */
    struct nb_stack_lesson lesson;
    struct nb_scores scratch; /* for the writer */
};

/* The vectors of weights, in the order in which they are stored: `shared`, `biases`, `order`,
 * `twin`, `twin_biases`, `attributes`, `known`, `margins`. */
enum {
    NB_STACK_VECTOR_ORDER = 1 + NB_STACK_EXPERTS,
    NB_STACK_VECTOR_TWIN,
    NB_STACK_VECTOR_TWIN_BIASES,
    NB_STACK_VECTOR_ATTRIBUTES,
    NB_STACK_VECTOR_KNOWN,
    NB_STACK_VECTOR_MARGINS,
    NB_STACK_VECTORS
};
static inline const struct nb_weights *nb_stack_vector_of(const struct nb_stack_weights *w,
                                                          unsigned vector)
{
    assert(vector < NB_STACK_VECTORS);
    return vector == 0                             ? &w->shared
           : vector == NB_STACK_VECTOR_ORDER       ? &w->order
           : vector == NB_STACK_VECTOR_TWIN        ? &w->twin
           : vector == NB_STACK_VECTOR_TWIN_BIASES ? &w->twin_biases
           : vector == NB_STACK_VECTOR_ATTRIBUTES  ? &w->attributes
           : vector == NB_STACK_VECTOR_KNOWN       ? &w->known
           : vector == NB_STACK_VECTOR_MARGINS     ? &w->margins
                                                   : &w->biases[vector - 1];
}
static inline struct nb_weights *nb_stack_vector(struct nb_stack_weights *w, unsigned vector)
{
    return (struct nb_weights *)(uintptr_t)nb_stack_vector_of(w, vector);
}

/* Appends the packed lesson; nothing if there is none. */
void nb_stack_lesson_write(const struct nb_stack_weights *weights, struct nb_packer *to);
/* Reads a packed lesson. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_stack_lesson_read(struct nb_stack_weights *weights, struct nb_string packed);
static inline bool nb_stack_lesson_changed(const struct nb_stack_lesson *l)
{
    return l->is_exchanged || (l->is_new && l->next.length + l->kept.length > 0);
}

static inline unsigned nb_stack_set(uint32_t labels, unsigned e)
{
    return (labels <= 2 ? 0 : NB_STACK_EXPERTS) + e;
}

/* The place of a weight's value in `shared`; the sum of its squares follows it. */
static inline size_t nb_stack_place(unsigned set, unsigned column)
{
    return ((size_t)set * NB_STACK_COLUMNS + column) * 2;
}

static inline size_t nb_stack_bias_place(uint32_t label)
{
    return (size_t)label * 2;
}

/* b of a label for an expert. */
static inline double nb_stack_bias(const struct nb_stack_weights *w, uint32_t label, unsigned e)
{
    return nb_weights_at(&w->biases[e], nb_stack_bias_place(label));
}

/* The place of an attribute's weight in `attributes`. The value there is the weight minus its start
 * value, so that a new attribute needs no place. The sum of its squared gradients follows it. */
enum { NB_STACK_ATTRIBUTE_PLACES = NB_STACK_SETS * 2 /* of each attribute */ };
static inline size_t nb_stack_attribute_place(uint32_t attribute, unsigned set)
{
    return ((size_t)attribute * NB_STACK_SETS + set) * 2;
}

/* Returns the weight of an attribute. It starts as if the attribute were the only field of the
 * document: its evidence counts both for a field and for all fields together. */
static inline double nb_stack_attribute_weight(const struct nb_stack_weights *w, uint32_t attribute,
                                               uint32_t labels, unsigned e)
{
    const struct nb_stack_expert *x = &nb_stack_bank(&w->settings, labels)->experts[e];
    size_t place = nb_stack_attribute_place(attribute, nb_stack_set(labels, e));
    return x->start_field + x->start_total + nb_weights_at(&w->attributes, place);
}

/* How often the errors of a step that is taken back are computed again: each time they are those of
 * weights closer to the weights before the step. */
static inline unsigned nb_stack_rounds(uint32_t labels)
{
    return labels <= 2 ? 60 : labels <= 8 ? 16 : 8;
}
/* The experts' part of nb_stack_unlearn, for the label at this place, under the lock. `room` has
 * place for three numbers for each label. Call nb_stack_experts_unlearn_room before, without the
 * lock; it returns 0 or NB_NO_MEMORY. */
int nb_stack_experts_unlearn_room(struct nb_stack_weights *weights,
                                  const struct nb_stack_inputs *inputs);
void nb_stack_experts_unlearn(struct nb_stack_weights *weights,
                              const struct nb_stack_inputs *inputs, uint32_t place, double weight,
                              double *room);

/* Writes the experts' combined score of each label to `scores`; `one` is scratch. Both have room
 * for inputs->size numbers. */
void nb_stack_base_scores(const struct nb_stack_weights *weights,
                          const struct nb_stack_inputs *inputs, double *scores, double *one);
/* Whether the inputs do not fit the weights, because they were read from a store and made with
 * other settings. */
bool nb_stack_is_of_other_settings(const struct nb_stack_weights *weights,
                                   const struct nb_stack_inputs *inputs);

/* ---- the twin -------------------------------------------------------------------------------- */

/* The places of the twin's vector: c and the sum of its squared gradients, L0, L1, and for each h
 * its value and the sum of its squared gradients. */
enum nb_stack_twin_place {
    NB_STACK_SHARPNESS,
    NB_STACK_SHARPNESS_SQUARES,
    NB_STACK_BASE_LOSS,
    NB_STACK_TWIN_LOSS,
    NB_STACK_SURENESS,
    NB_STACK_TWIN_PLACES = NB_STACK_SURENESS + 2 * 2
};

/* The number of places that a vector of this program may have. */
static inline size_t nb_stack_vector_most(unsigned vector)
{
    return vector == 0                       ? (size_t)NB_STACK_SHARED
           : vector == NB_STACK_VECTOR_ORDER ? (size_t)NB_STACK_ORDER_MOST
           : vector == NB_STACK_VECTOR_TWIN  ? (size_t)NB_STACK_TWIN_PLACES
           : vector == NB_STACK_VECTOR_KNOWN || vector == NB_STACK_VECTOR_MARGINS
               ? (size_t)NB_WEIGHTS_RANGE
           : vector == NB_STACK_VECTOR_ATTRIBUTES
               ? (size_t)NB_ATTRIBUTES_MOST * NB_STACK_ATTRIBUTE_PLACES
               : (size_t)NB_LABELS_MOST * 2;
}

/* Whether a stored value is valid: sums of squares, losses and the numbers of the order are never
 * negative. */
static inline bool nb_stack_is_possible(const struct nb_stack_weights *weights,
                                        const struct nb_weights *w, double value, size_t place)
{
    bool is_loss = w == &weights->shared && place / 2 % NB_STACK_COLUMNS == NB_STACK_LOSS;
    bool never_negative = place % 2 != 0 || is_loss || w == &weights->order;
    return isfinite(value) &&
           !(never_negative && w != &weights->known && w != &weights->margins && value < 0);
}

/* The factors of s and t in the score: 1 - trust + trust c, and trust c. */
struct nb_stack_twin_part {
    double stack, twin;
};

static inline struct nb_stack_twin_part nb_stack_twin_part(const struct nb_stack_weights *weights)
{
    const struct nb_weights *w = &weights->twin;
    double behind = nb_weights_at(w, NB_STACK_TWIN_LOSS) - nb_weights_at(w, NB_STACK_BASE_LOSS);
    double trust = 1 / (1 + exp(weights->settings.mixing * behind));
    double sharpened = trust * nb_weights_at(w, NB_STACK_SHARPNESS);
    return (struct nb_stack_twin_part){.stack = 1 - trust + sharpened, .twin = sharpened};
}

/* Returns the number i, 0 or 1, of h (core/bayes/scorer.h). */
static inline double nb_stack_sureness(const struct nb_stack_weights *weights, size_t i)
{
    return nb_weights_at(&weights->twin, NB_STACK_SURENESS + 2 * i);
}

/* d of a label. */
static inline double nb_stack_twin_bias_of(const struct nb_stack_weights *weights, uint32_t label)
{
    return nb_weights_at(&weights->twin_biases, nb_stack_bias_place(label));
}

/* d of the label at this place of the `size` labels. */
static inline double nb_stack_twin_bias(const struct nb_stack_weights *weights,
                                        const uint32_t *labels, size_t size, size_t place)
{
    if (size == 2 && place == 0)
        return 0; /* the one column belongs to the second label */
    return nb_stack_twin_bias_of(weights, labels[place]);
}

/* nb_stack_twin_take replaces the twin of `weights`, whose lock the caller holds for writing, by
 * the twin of `from`, which has no slots afterwards; this can be rolled back. Call
 * nb_stack_twin_room before, without the lock, to make room. Both return 0, or NB_NO_MEMORY with
 * nothing changed. */
int nb_stack_twin_room(struct nb_stack_weights *weights, const struct nb_stack_weights *from);
int nb_stack_twin_take(struct nb_stack_weights *weights, struct nb_stack_weights *from);

/* Sets the trust in each expert in use; the trusts sum to 1. */
void nb_stack_trust(const struct nb_stack_weights *weights, uint32_t labels,
                    double trust[NB_STACK_EXPERTS]);

/* ---- weights of several models --------------------------------------------------------------- */

/* The weights of a model, or of a model and its parents together (core/stack/blend.h), for a given
 * number of labels. */
struct nb_stack_mix {
    double groups[NB_STACK_EXPERTS][NB_STACK_GROUPS];
    double trust[NB_STACK_EXPERTS];
    double stack, twin; /* factors of s and t; 1 and 0 without a twin */
    double sureness[2]; /* h */
};

/* Adds the weights of a model, times its share in the mix. */
void nb_stack_mix_add(struct nb_stack_mix *mix, const struct nb_stack_weights *weights,
                      double share, uint32_t labels, bool has_twin);

/* The factors of each field's evidence in the difference of two scores. */
struct nb_stack_worth {
    double stack[NB_STACK_EXPERTS][NB_FIELDS], twin[NB_FIELDS];
};

/* `features`: number in the document, by group; `attributes`: how many have a value there. */
void nb_stack_put_worth(const struct nb_stack_mix *mix, const struct nb_stack_settings *settings,
                        const uint32_t features[NB_STACK_GROUPS], uint32_t attributes,
                        uint32_t labels, struct nb_stack_worth *worth);

/* The evidence of a document for one label against all others together, by the bank for two labels.
 */
struct nb_stack_against {
    double offsets[NB_STACK_EXPERTS][NB_FIELDS];
    double x[NB_STACK_EXPERTS][NB_FIELDS]; /* sums of e */
    double twin[NB_FIELDS];                /* sums of u times r */
    double attributes;                     /* what attributes add to the sum of the experts */
    double twin_of_attributes;             /* what attributes add to t */
    uint32_t attribute_count;
    uint32_t features[NB_STACK_GROUPS];
};

/* Returns the log-odds. `bias` is the difference of the biases of both labels, summed over the
 * experts times their trust; `twin_bias` is that of the twin. */
double nb_stack_against_odds(const struct nb_stack_against *against, const struct nb_stack_mix *mix,
                             const struct nb_stack_settings *settings, double bias,
                             double twin_bias);

#endif
