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

#include "core/bayes/attribute/numbers.h"
#include "core/bayes/book/estimate.h"
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
    _Atomic uint32_t fields; /* 1u << field: whose offsets are there */
    size_t offset_room;
    double *offsets; /* owned; [expert][field][column] */
    _Atomic bool has_numbers;
    struct nb_numbers numbers; /* of settings that let numbers be cut; see nb_stack_numbers */
};

struct nb_stack {
    struct nb_stack_settings settings;
    struct nb_stack_reading *two, *many; /* owned; as many as the banks' sizes */
    /* As in core/bayes/book/score_view.h: the view changes under the mutex, and only when no reader
     * uses it, because the generation only changes when no reader has the model's lock. */
    pthread_mutex_t mutex;
    _Atomic uint64_t generation;
    struct nb_stack_view view;
    atomic_size_t view_bytes;
    const struct nb_settings *cutting; /* borrowed: how numbers are cut; NULL: they are not */
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

/* h: the part of a label's score that its inputs move. */
static inline double nb_stack_half(uint32_t labels)
{
    return labels == 2 ? 0.5 : 1.0;
}

static inline double nb_stack_log(const struct nb_stack_reading *r, uint64_t count)
{
    return nb_log_table_at(&r->logs, count);
}

/* The part of r_v that depends on the feature, which `documents` documents of the label have, and
 * `all` of all labels. */
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

/* The view of the model's counts as they are, without offsets. Returns 0 or NB_NO_MEMORY. */
int nb_stack_view(struct nb_stack *stack, const struct nb_model *model,
                  const struct nb_stack_view **view);
/* Computes the offsets of a field unless they exist. They are computed on demand: a document has
 * few fields, and a thousand labels need a thousand logarithms in each. */
void nb_stack_view_field(struct nb_stack *stack, const struct nb_model *model, unsigned field);

/* Sets *numbers to the model's numbers in bins, for the latest view; NULL if the settings allow no
 * bins. They are made for the first document that has a number. Returns 0 or NB_NO_MEMORY. */
int nb_stack_numbers(struct nb_stack *stack, const struct nb_model *model,
                     const struct nb_numbers **numbers);

/* The part of the counts that belongs to a left-out document. */
struct nb_stack_without {
    uint32_t label;
    uint32_t features[NB_FIELDS]; /* n_f: of the document */
    uint32_t unique[NB_FIELDS];   /* u_f: those of them that no other document has */
};

/* A difference of counts. Below 0 only if the document is not in the counts any more: a reader's
 * snapshot may be older than they are. */
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

/* The offsets of one field for one expert, for every column. `sum` is a field, or
 * another part of the model with presences and a vocabulary. */
void nb_stack_put_offsets(const struct nb_stack_view *view, const struct nb_model *model,
                          struct nb_stack_taken taken, unsigned sum, double smoothing,
                          double *offsets);

/* Returns the offsets of a field for an expert, by column. */
static inline const double *nb_stack_offsets(struct nb_stack *stack, const struct nb_model *model,
                                             unsigned e, unsigned field)
{
    const struct nb_stack_view *view = &stack->view;
    if ((atomic_load_explicit(&view->fields, memory_order_acquire) >> field & 1u) == 0)
        nb_stack_view_field(stack, model, field);
    return view->offsets + ((size_t)e * NB_FIELDS + field) * view->columns;
}

/* Makes room for so many labels; what is in the inputs may be lost. Returns 0 or NB_NO_MEMORY. */
int nb_stack_inputs_room(struct nb_stack_inputs *inputs, uint32_t labels);

/* ---- a document on its way into the inputs --------------------------------------------------- */

/* With two labels: a feature that some document other than the left-out one has. */
struct nb_stack_noted {
    uint32_t first, second; /* documents of each label */
    uint64_t id;
};

/* The evidence of a noted feature for the first label; for the second it is the negative, to the
 * bit. An explanation reads it again. */
struct nb_stack_said {
    double e[NB_STACK_EXPERTS]; /* 0 of experts that are not in use */
    double r;                   /* of the last one in use */
    uint64_t place;             /* in the bag */
};

struct nb_stack_pass {
    struct nb_stack *stack;
    const struct nb_model *model;
    const struct nb_stack_view *view;
    const struct nb_stack_reading *readings;
    unsigned experts;
    bool are_roots;  /* with two labels: two experts, both of power 1.5 */
    bool is_summed;  /* with two labels: nothing is left for nb_stack_two_finish */
    bool is_of_rows; /* with two labels: nobody will ask for an explanation */
    struct nb_stack_inputs *inputs;
    const struct nb_stack_without *without; /* NULL: no document is left out */
    const double *offsets;                  /* with two labels: [expert][field] */
    struct nb_stack_evidence *twin;         /* NULL: without a twin */
};

/* Prefetch distances. A row's first cells are prefetched half way between the prefetch of the row
 * and its turn, and all cells when it is next: a row of a thousand labels has 16 KB, and rows lie
 * anywhere in memory. */
enum { NB_STACK_AHEAD_OF_CELLS = NB_MODEL_AHEAD / 2, NB_STACK_AHEAD_OF_REST = 1 };

/* Returns the id of a row; prefetches later rows. */
static inline uint64_t nb_stack_id_of(const struct nb_stack_pass *p,
                                      const struct nb_row_count *rows, size_t size, size_t i)
{
    if (i + NB_MODEL_AHEAD < size)
        nb_packed_row_prefetch(nb_model_packed(p->model, rows[i + NB_MODEL_AHEAD].row));
    return nb_model_packed(p->model, rows[i].row)->id;
}

/* Returns a row with its cells; prefetches later rows. */
static inline struct nb_row nb_stack_row_of(const struct nb_stack_pass *p,
                                            const struct nb_row_count *rows, size_t size, size_t i)
{
    (void)nb_stack_id_of(p, rows, size, i);
    return nb_model_row(p->model, rows[i].row);
}

/* ---- two labels: core/stack/stack_two.c
 * ------------------------------------------------------ */

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

/* ---- more than two labels: core/stack/stack_many.c
 * ------------------------------------------- */

void nb_stack_scratch_free(struct nb_stack_scratch **scratch);
/* Makes room for a document of `size` features; if a document is left out, computes the offsets
 * without it. Returns 0 or NB_NO_MEMORY. */
int nb_stack_many_start(const struct nb_stack_pass *p, size_t size);
/* Notes a feature that D_w = `all` documents have, without the left-out one, and adds the
 * difference that its cells make over cells of 0. */
void nb_stack_many_add(const struct nb_stack_pass *p, unsigned field, struct nb_row row,
                       uint64_t all);
/* Adds what the noted features add to every label when all their cells are 0, and puts the sums
 * into the inputs (core/stack/stack_many.c). */
void nb_stack_many_finish(const struct nb_stack_pass *p);

/* 1 / n^length times scale; 0 for no features. */
static inline double nb_stack_share(const struct nb_stack_settings *s, uint32_t features)
{
    return features == 0 ? 0 : s->scale / pow((double)features, s->length);
}

/* ---- weights: where each lies ---------------------------------------------------------------- */

/* A set holds the weights of one expert of a bank, one for each group, and its loss. Every weight
 * has two places: its value, and the sum of the squares of its gradients. The biases of an expert
 * have a vector of their own, two places a label, so that a label costs nothing where it has no
 * bias. */
enum {
    NB_STACK_SETS = 2 * NB_STACK_EXPERTS, /* those for two labels, then those for more */
    NB_STACK_LOSS = NB_STACK_GROUPS,      /* the column of L_e; its second place is 0 */
    NB_STACK_COLUMNS = NB_STACK_GROUPS + 1,
    NB_STACK_SHARED = NB_STACK_SETS * NB_STACK_COLUMNS * 2
};

/* How the stored weights are laid out, as the head record says. */
struct nb_stack_layout {
    uint32_t sets, columns; /* of the stored form; 0: no head has been read */
    bool is_ours;
    uint32_t *set_of, *column_of; /* owned; our number, or UINT32_MAX: unknown to this program */
};

struct nb_stack_weights {
    pthread_rwlock_t *lock; /* &lock_storage */
    pthread_rwlock_t lock_storage;
    struct nb_stack_settings settings;
    struct nb_weights shared;                   /* NB_STACK_SHARED places; see nb_stack_place */
    struct nb_weights biases[NB_STACK_EXPERTS]; /* see nb_stack_bias_place */
    struct nb_weights order;                    /* the owner's; see nb_stack_weights_order */
    struct nb_weights twin;                     /* the places of enum nb_stack_twin_place */
    struct nb_weights twin_biases;              /* d, as biases */
    struct nb_weights attributes;               /* see nb_stack_attribute_place */
    struct nb_slots slots;                      /* u */
    bool head_changed;                          /* the head record is not stored as it is */
    uint32_t stored_ranges;                     /* of `shared`, seen while reading */
    struct nb_stack_layout layout;              /* of what is being read */
    struct nb_scores scratch;                   /* the writer's */
};

/* The vectors of weights, in the order in which they are stored: shared, biases, order, those of
 * the twin, attributes. */
enum {
    NB_STACK_VECTOR_ORDER = 1 + NB_STACK_EXPERTS,
    NB_STACK_VECTOR_TWIN,
    NB_STACK_VECTOR_TWIN_BIASES,
    NB_STACK_VECTOR_ATTRIBUTES,
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
                                                   : &w->biases[vector - 1];
}
static inline struct nb_weights *nb_stack_vector(struct nb_stack_weights *w, unsigned vector)
{
    return (struct nb_weights *)(uintptr_t)nb_stack_vector_of(w, vector);
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

/* The place of an attribute's weight in `attributes`, which has what is learned: the weight less
 * its start value. So an attribute that is new needs no place. The sum of its squares follows it.
 */
enum { NB_STACK_ATTRIBUTE_PLACES = NB_STACK_SETS * 2 /* of each */ };
static inline size_t nb_stack_attribute_place(uint32_t attribute, unsigned set)
{
    return ((size_t)attribute * NB_STACK_SETS + set) * 2;
}

/* Returns the weight of an attribute. Its start value is that of a document with nothing else: the
 * evidence counts as that of a field and of all fields together. */
static inline double nb_stack_attribute_weight(const struct nb_stack_weights *w, uint32_t attribute,
                                               uint32_t labels, unsigned e)
{
    const struct nb_stack_expert *x = &nb_stack_bank(&w->settings, labels)->experts[e];
    size_t place = nb_stack_attribute_place(attribute, nb_stack_set(labels, e));
    return x->start_field + x->start_total + nb_weights_at(&w->attributes, place);
}

/* Writes the experts' combined score of each label to `scores`; `one` is scratch. Both have room
 * for inputs->size numbers. */
void nb_stack_base_scores(const struct nb_stack_weights *weights,
                          const struct nb_stack_inputs *inputs, double *scores, double *one);
/* Whether the inputs do not fit the weights: they were read, and are of other settings. */
bool nb_stack_is_of_other_settings(const struct nb_stack_weights *weights,
                                   const struct nb_stack_inputs *inputs);

/* ---- the twin -------------------------------------------------------------------------------- */

/* The places of its vector: c and the sum of its squared gradients, L0, L1. */
enum nb_stack_twin_place {
    NB_STACK_SHARPNESS,
    NB_STACK_SHARPNESS_SQUARES,
    NB_STACK_BASE_LOSS,
    NB_STACK_TWIN_LOSS,
    NB_STACK_TWIN_PLACES
};

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

/* d of a label. */
static inline double nb_stack_twin_bias_of(const struct nb_stack_weights *weights, uint32_t label)
{
    return nb_weights_at(&weights->twin_biases, nb_stack_bias_place(label));
}

/* d of the label in this place of `labels`, which are `size`. */
static inline double nb_stack_twin_bias(const struct nb_stack_weights *weights,
                                        const uint32_t *labels, size_t size, size_t place)
{
    if (size == 2 && place == 0)
        return 0; /* the column is the second's */
    return nb_stack_twin_bias_of(weights, labels[place]);
}

/* nb_stack_twin_take replaces the twin of `weights`, whose lock is held for writing, by that of
 * `from`, which has no slots afterwards; it can be rolled back. nb_stack_twin_room must have made
 * room before, without the lock. Both return 0 or NB_NO_MEMORY, and then nothing was
 * changed. */
int nb_stack_twin_room(struct nb_stack_weights *weights, const struct nb_stack_weights *from);
int nb_stack_twin_take(struct nb_stack_weights *weights, struct nb_stack_weights *from);

/* Sets the trust in each expert in use; it sums to 1. */
void nb_stack_trust(const struct nb_stack_weights *weights, uint32_t labels,
                    double trust[NB_STACK_EXPERTS]);

/* ---- weights of several models --------------------------------------------------------------- */

/* The weights of a model, or of a model and its parents together (core/stack/blend.h), for so many
 * labels. */
struct nb_stack_mix {
    double groups[NB_STACK_EXPERTS][NB_STACK_GROUPS];
    double trust[NB_STACK_EXPERTS];
    double stack, twin; /* factors of both scores; without a twin 1 and 0 */
};

/* Adds the weights of a model, times its share in the mix. */
void nb_stack_mix_add(struct nb_stack_mix *mix, const struct nb_stack_weights *weights,
                      double share, uint32_t labels, bool has_twin);

/* The factors of each field's evidence in the difference of two scores. */
struct nb_stack_worth {
    double stack[NB_STACK_EXPERTS][NB_FIELDS], twin[NB_FIELDS];
};

/* `features`: of the document, by group; `attributes`: how many have a value in it. */
void nb_stack_put_worth(const struct nb_stack_mix *mix, const struct nb_stack_settings *settings,
                        const uint32_t features[NB_STACK_GROUPS], uint32_t attributes,
                        uint32_t labels, struct nb_stack_worth *worth);

/* One label against all others together, by the bank for two labels: what a document says for it.
 */
struct nb_stack_against {
    double offsets[NB_STACK_EXPERTS][NB_FIELDS];
    double x[NB_STACK_EXPERTS][NB_FIELDS]; /* sums of e */
    double twin[NB_FIELDS];                /* sums of u times r */
    double attributes;                     /* what these add to the sum of the experts */
    double twin_of_attributes;             /* and to t */
    uint32_t attribute_count;
    uint32_t features[NB_STACK_GROUPS];
};

/* Returns the log-odds, given the differences of the biases of both labels, those of the experts
 * already times their trust. */
double nb_stack_against_odds(const struct nb_stack_against *against, const struct nb_stack_mix *mix,
                             const struct nb_stack_settings *settings, double bias,
                             double twin_bias);

#endif
