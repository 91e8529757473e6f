/* SPDX-License-Identifier: Apache-2.0
 *
 * The stacked decision: evidence per field of a document, weighed by a small soft-max regression
 * that learns online and whose output is a calibrated probability.
 *
 * By-the-book naive Bayes takes every word for independent evidence, so long documents give
 * probabilities of 0 and 1, and header lines outvote the text. Here each field sums its own
 * evidence, from the same integer counts. The sum is divided by a power of the field's number of
 * features. The trust in each field is learned from the documents themselves: each document is
 * scored before it is learned, and the error of that score moves the weights. core/EXPERIMENTS.md
 * has measurements.
 *
 * A feature w counts once per document. d_wv documents of label v have it, D_w of all labels. T_v
 * and T are the sums of d_wv and D_w over w's field, and V is the field's vocabulary:
 *
 *     r_v = ln(d_wv + a) - ln(D_w - d_wv + a) - ln(T_v + m a (V + 1)) + ln(T - T_v + m a (V + 1))
 *     e_v = sign(r_v) |r_v|^p
 *     x_vg = scale * sum of e_v over the field / (features of the field, unseen ones too)^length
 *     s_ve = b_ve + h * sum of weight_ge * x_vge
 *     s_v = sum of trust_e * s_ve                   P(v) = exp(s_v) / sum of exp(s_u)
 *
 * r_v is the multinomial's evidence for v against all other labels together (Rennie et al. 2003,
 * the complement). m is 1 with two labels, else 0.3: a (V + 1) is a large multiple of the T_v of a
 * label with few documents, whose own words would look much rarer in it than they are. One more
 * input sums all fields but the n-grams, which repeat them. Several pairs (a, p), the experts e,
 * read the same counts, and each learns its own weights. The trust in each follows from how well it
 * has predicted labels so far: with L_e the sum of its -ln P_e(label), in which older documents
 * fade, trust_e is exp(-mixing L_e), normalized to 1 (the exponentially weighted average
 * forecaster; Cesa-Bianchi and Lugosi 2006, Prediction, Learning, and Games, chapter 2). h is 1/2
 * with two labels, where e of one is minus e of the other, so that this is the logistic regression
 * s = b + sum of weight_g * x_g; else h is 1.
 *
 * The twin (stack_twin.c) is one more weight u for each feature, shared by all labels. It scales
 * the feature's evidence and is learned from what the stack gets wrong: the twin starts from the
 * stack's score as an offset. With x_w = 1 / sqrt(features of w's field * fields that the document
 * has), unseen features too,
 *
 *     t_v = d_v + sum of u_w * x_w * r_wv
 *     score_v = (1 - trust) * s_v + trust * c * (s_v + t_v)
 *     trust = 1 / (1 + exp(mixing * (L1 - L0)))
 *
 * L0 and L1 are the fading losses of s and of c (s + t), where a probability P costs
 * -ln(.9 P + .1 / labels). r is the reading of the last expert of the bank. With two labels t has
 * one column, for the difference of their scores.
 *
 * Attributes named in the settings of the model (core/base/attribute.h) are further groups, outside
 * the sum of all fields, each with a weight of its own: core/stack/stack_attributes.h.
 *
 * Threads: any thread may compute inputs, scores and explanations, holding the model's read lock
 * for those functions that take a model, and the weights' for those that take weights. One thread,
 * the writer, learns; it needs no lock. Locks are taken in this order: model, weights.
 */
#ifndef NB_CORE_STACK_STACK_H
#define NB_CORE_STACK_STACK_H

#include "core/base/buffer.h"
#include "core/bayes/explain.h"
#include "core/counts/model.h"
#include "core/stack/weights.h"

enum {
    NB_STACK_EXPERTS = 2,            /* at most */
    NB_STACK_GROUPS = NB_FIELDS + 1, /* the fields, and all of them but n-grams together */
    NB_STACK_TOTAL = NB_FIELDS,      /* the group of all together, without n-grams */
    NB_STACK_INPUTS = NB_STACK_EXPERTS * NB_STACK_GROUPS
};

/* One reading of the counts, and the start values of its weights. */
struct nb_stack_expert {
    double smoothing; /* a */
    double share;     /* m */
    double power;     /* p */
    double start_field, start_ngram, start_total;
};

struct nb_stack_bank {
    unsigned size; /* experts, 1 to NB_STACK_EXPERTS */
    struct nb_stack_expert experts[NB_STACK_EXPERTS];
};

/* The constants. The values in the comments were measured on SpamAssassin's corpus, CSDMC2010,
 * Enron 1 and 3, SMS and, for many labels, 20 Newsgroups, Reuters and others; neighbouring values
 * are within a tenth. */
struct nb_stack_settings {
    struct nb_stack_bank two;  /* for two labels */
    struct nb_stack_bank many; /* for more */
    double length; /* 0.8: evidence in a text grows faster than the root of its length */
    double scale;  /* 0.4: brings the inputs to about 1 */
    double rate;   /* 0.12: step of AdaGrad (Duchi, Hazan and Singer 2011) */
    double mixing; /* 0.5: how fast trust moves to the better expert */
    double memory; /* 2000: documents after which a loss has faded to 1/e */
    bool twin;     /* true: the twin is in use */
};

/* Sets the default constants. Two labels: a sharp expert (a, p) = (0.02, 1.5), best on clean
 * labels, and a robust one (0.5, 1.5), which wrong labels mislead less. More labels: (0.1, 2), and
 * m = 0.3. */
void nb_stack_settings_init(struct nb_stack_settings *settings);

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Data derived from settings and counts: logarithms, and the field sums of one generation. */
struct nb_stack;
/* Makes a stack, which serves one model. Returns 0 or NB_NO_MEMORY. */
int nb_stack_new(const struct nb_stack_settings *settings, struct nb_stack **stack);
void nb_stack_free(struct nb_stack **stack);
/* Makes the stack read numbers by the setting `number`: in bins (core/bayes/numbers.h) or
 * by Gaussians, the default of a new stack. `settings` must stay. Call it before any other use of
 * the stack. */
void nb_stack_cut_numbers(struct nb_stack *stack, const struct nb_settings *settings);
/* Bytes of memory, without the logarithms, which all models share (nb_log_tables_memory). */
size_t nb_stack_memory(const struct nb_stack *stack);

struct nb_stack_scratch;
struct nb_stack_evidence;
struct nb_stack_noted;
struct nb_stack_said;
struct nb_stack_passages;
struct nb_stack_weights;

/* The inputs of one document. The struct is reused from document to document. */
struct nb_stack_inputs {
    uint32_t size;    /* labels that have documents, in the order of their names */
    uint32_t *labels; /* label numbers; owned */
    uint32_t count;   /* inputs per label: experts of the bank in use times NB_STACK_GROUPS */
    double *x;        /* x[i * size + v]: input i = expert * NB_STACK_GROUPS + group; owned */
    uint32_t features[NB_STACK_GROUPS]; /* of the document: by field, and of all but n-grams */
    double *t;     /* of the twin: t_v - d_v; with two labels only the second's is used; owned */
    bool has_twin; /* `t` is valid for the document */
    bool is_kept;  /* `evidence` is valid for the document */
    bool is_brief; /* set by the caller: nb_stack_explain will not be called */
    bool wants_passages; /* set by the caller: nb_stack_worst_passage will be called */
    bool has_passages;   /* private: `passages` are those of the document */
    struct nb_stack_passages *passages;     /* private; owned */
    const struct nb_stack_weights *twin;    /* private; borrowed: see nb_stack_inputs_twin */
    bool keeps;                             /* private */
    struct nb_stack_evidence *evidence;     /* private; owned */
    size_t room;                            /* private: of `labels` */
    struct nb_stack_scratch *scratch;       /* private; owned */
    struct nb_stack_attributes *attributes; /* private; owned; NULL: no value yet */
    bool failed;                            /* private: out of memory for a value */
    struct nb_stack_noted *noted;           /* private; owned */
    size_t noted_count, noted_room;         /* private */
    struct nb_stack_said *said;             /* private; owned; two labels: by known feature */
    size_t said_count, said_room;           /* private */
};
void nb_stack_inputs_init(struct nb_stack_inputs *inputs);
void nb_stack_inputs_deinit(struct nb_stack_inputs *inputs);

/* Makes the inputs include those of the twin of `weights` from now on (borrowed; NULL, or settings
 * without a twin: no twin). The weights are read under the same locks as in nb_stack_score.
 * `keeps`: also keep the evidence that nb_stack_twin_learn needs. */
void nb_stack_inputs_twin(struct nb_stack_inputs *inputs, const struct nb_stack_weights *weights,
                          bool keeps);

/* Computes the inputs of a bag, in the order of the bag, so that the same document under the same
 * counts gives the same bits. Returns 0, NB_CONFLICT (no label has a document) or NB_NO_MEMORY. */
int nb_stack_inputs(struct nb_stack *stack, const struct nb_model *model,
                    const struct nb_feature *features, size_t size, struct nb_stack_inputs *inputs,
                    struct nb_error *error);
/* As nb_stack_inputs, with rows that nb_model_find_all found under the same lock. `found` NULL: the
 * rows are looked up. */
int nb_stack_inputs_found(struct nb_stack *stack, const struct nb_model *model,
                          const struct nb_feature *features, size_t size,
                          const struct nb_found *found, struct nb_stack_inputs *inputs,
                          struct nb_error *error);

#define NB_STACK_NO_LABEL UINT32_MAX
/* As nb_stack_inputs, for a document whose rows are all in the model, in the order of `rows`. If
 * `without` is not NB_STACK_NO_LABEL, the counts contain the document under this label, and the
 * function computes its leave-one-out inputs: those that it would have if the model had learned all
 * documents but this one. The formulas above then have D_w - 1, d_wy - 1, T_y - n_f, T - n_f and
 * V - u_f, where y is the document's label, n_f the number of its features in a field, and u_f how
 * many of them no other document has (these are then unknown). Leave-one-out inputs do not depend
 * on the order of learning. Returns 0, NB_CONFLICT (no label has a document; or no other document
 * has the label, so that the document teaches nothing), NB_CORRUPT (a row was dropped) or
 * NB_NO_MEMORY. */
int nb_stack_inputs_of_rows(struct nb_stack *stack, const struct nb_model *model,
                            const struct nb_row_count *rows, size_t size, uint32_t without,
                            struct nb_stack_inputs *inputs);

/* As nb_stack_inputs_of_rows with `without`, but leaves out all documents of the label: D_w - d_wy,
 * T - T_y. Features that no other label has are unknown. The columns of the label are meaningless.
 * For a model of more than two labels. Values of attributes are read as if only this document were
 * left out. */
int nb_stack_inputs_without_label(struct nb_stack *stack, const struct nb_model *model,
                                  const struct nb_row_count *rows, size_t size, uint32_t without,
                                  struct nb_stack_inputs *inputs);

/* Computes the twin's part of inputs again from its current weights; the other parts do not depend
 * on weights. For two labels and kept inputs (`is_kept`), on the thread that changes the weights.
 * The result is the same, to the bit, as if the inputs had been computed now. */
void nb_stack_inputs_twin_again(struct nb_stack_inputs *inputs);

/* ---- weights --------------------------------------------------------------------------------- */

/* The weights: one set for two labels, one for more, and a bias for each label and expert; each
 * with the sum of its squared gradients. Also the losses of the experts, and the twin. */
/* Returns weights with start values; NULL: out of memory. */
struct nb_stack_weights *nb_stack_weights_new(const struct nb_stack_settings *settings);
void nb_stack_weights_free(struct nb_stack_weights **weights);
size_t nb_stack_weights_memory(const struct nb_stack_weights *weights);

/* Multiplies the two-label weights of the fields in the mask `fields` (1u << enum nb_field) by
 * `field_factor`, and the weight of all fields together by `total_factor`. For counts that are
 * imported without documents, which teach nothing about the fields. No other thread may see the
 * weights yet. */
void nb_stack_weights_raise(struct nb_stack_weights *weights, uint32_t fields, double field_factor,
                            double total_factor);

void nb_stack_weights_read_lock(const struct nb_stack_weights *weights);
void nb_stack_weights_unlock(const struct nb_stack_weights *weights);

/* Fills `scores` (log_scores are the s_v; total and known are 0). Returns 0, NB_CORRUPT
 * (as nb_stack_learn) or NB_NO_MEMORY. */
int nb_stack_score(const struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                   struct nb_scores *scores);

/* Sets *log_odds to ln P / (1 - P) of `label` against all other labels together, with the latest
 * weights for two labels, the biases of `label` and `other`, and the twin. This equals the result
 * of nb_stack_score if there are only these two labels, and is close to it if the others have few
 * documents. Under the same locks as nb_stack_inputs and nb_stack_score. Returns 0 or NB_NO_MEMORY.
 */
int nb_stack_against(struct nb_stack *stack, const struct nb_model *model,
                     const struct nb_stack_weights *weights, const struct nb_feature *features,
                     size_t size, uint32_t label, uint32_t other, double *log_odds);

/* Does one step of stochastic gradient descent for each expert, on its -ln P(label), from the
 * inputs that the document had before it was counted, or from its leave-one-out inputs. The
 * gradient and the loss are multiplied by `weight`, which is above 0 and at most 1; older losses
 * fade accordingly less. Does nothing when `label` has no document yet or is the only label with
 * documents. Returns 0, or NB_CORRUPT (inputs read from a store, made with other settings) or
 * NB_NO_MEMORY with nothing changed. */
int nb_stack_learn(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                   uint32_t label, double weight);

/* Does one step of the twin, by AdaGrad on its -ln(.9 P(label) + .1 / labels); `weight` as in
 * nb_stack_learn. The twin corrects the stack's present scores, so call this before nb_stack_learn.
 * Does nothing when `label` has no document yet or is the only label with documents, or when the
 * inputs were not kept for a twin. Returns 0, NB_CORRUPT (as nb_stack_learn) or NB_NO_MEMORY, and
 * then nothing was changed. */
int nb_stack_twin_learn(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                        uint32_t label, double weight);
/* The first of two parts of the same step, for inputs whose evidence may not have been kept: with a
 * thousand labels the evidence is most of a megabyte, and most documents teach the twin's features
 * nothing. This part needs only the inputs. Sets *teaches to whether the second part has work to
 * do. Returns as nb_stack_twin_learn does. */
int nb_stack_twin_weigh(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                        uint32_t label, double weight, bool *teaches);
/* The second part, with kept inputs: those of the first part, or the same computed again. Call it
 * before the weights learn anything else. Returns 0 or NB_NO_MEMORY. */
int nb_stack_twin_learn_features(struct nb_stack_weights *weights,
                                 const struct nb_stack_inputs *inputs, uint32_t label,
                                 double weight);
/* Tells whether to keep the evidence of a document that will be learned, in a model of so many
 * labels and documents: if there is little evidence, or if most documents still teach the twin's
 * features. Evidence that is computed again may differ in the last digit. Therefore the choice
 * depends only on the weights and the counts, which a replay reproduces. */
bool nb_stack_twin_keeps(const struct nb_stack_weights *weights, uint32_t labels,
                         uint64_t documents);
/* Returns a copy of the weights in which the twin has its start values and the training order is
 * all zeros. Under the read lock of `weights`. NULL: out of memory. */
struct nb_stack_weights *nb_stack_weights_with_new_twin(const struct nb_stack_weights *weights);
/* The slots of the twin, which are stored separately (core/model/checkpoint.h). */
struct nb_slots *nb_stack_twin_slots(struct nb_stack_weights *weights);

/* The state of the training order (core/model/order.h): numbers, 0 or above, that are stored,
 * rolled back, written and read with the weights. At most NB_STACK_ORDER_MOST places; all are 0 at
 * first. Only the writer reads and changes them. */
enum { NB_STACK_ORDER_MOST = 20 + 4 * NB_LABELS_MOST };
struct nb_weights *nb_stack_weights_order(struct nb_stack_weights *weights);

/* The numbers of the regression that tells known documents from others (core/model/known.h), which
 * are stored, rolled back, written and read with the weights. At most NB_WEIGHTS_RANGE places; all
 * are 0 at first. Under the lock of `weights`; nb_stack_weights_lock takes it for the writer, who
 * changes them. */
struct nb_weights *nb_stack_weights_known(struct nb_stack_weights *weights);
void nb_stack_weights_lock(struct nb_stack_weights *weights);

/* ---- weights: taking changes back ------------------------------------------------------------ */

/* Marks a state of the weights. All zeros: the state of the last commit, or the start. */
struct nb_stack_mark {
    size_t shared, biases[NB_STACK_EXPERTS], order, twin, twin_biases, attributes, known, margins,
        slots;
};
/* Marks the present state. The mark is valid until the next commit, or a rollback to an older mark.
 * For the writer. */
struct nb_stack_mark nb_stack_weights_mark(struct nb_stack_weights *weights);
/* Restores the weights, to the bit, in time proportional to what was learned since. Cannot fail.
 * Takes the lock. */
void nb_stack_weights_rollback(struct nb_stack_weights *weights, struct nb_stack_mark mark);
/* Marks the records that nb_stack_weights_changed listed as stored: nothing differs any more. */
void nb_stack_weights_commit(struct nb_stack_weights *weights);

/* ---- weights: taking the last lesson back ---------------------------------------------------- */

/* The weights keep, and store, what the last change of a document replaced in them, until the next
 * lesson. On the thread that changes the weights. */

/* Begins the lesson of a document, given by a number of its id (not 0). `before`: the restored
 * weights contain a lesson of the document under this label; NB_STACK_NO_LABEL: none. `is_replay`:
 * earlier changes will not be rolled back any more, so that their old values are freed. */
void nb_stack_lesson_begin(struct nb_stack_weights *weights, uint64_t document, uint32_t before,
                           bool is_replay);
/* Forgets the lesson: the weights were exchanged, or the change must not be taken back twice. */
void nb_stack_lesson_forget(struct nb_stack_weights *weights);
/* Whether the last lesson is that of the document; if so, sets *before. */
bool nb_stack_lesson_is_of(const struct nb_stack_weights *weights, uint64_t document,
                           uint32_t *before);
/* Restores, to the bit, what the last lesson changed. Takes the lock. Returns 0, NB_CORRUPT or
 * NB_NO_MEMORY. */
int nb_stack_lesson_take_back(struct nb_stack_weights *weights);
/* Packs the lesson for the next commit, before its records are listed. Returns 0 or NB_NO_MEMORY.
 */
int nb_stack_lesson_pack(struct nb_stack_weights *weights);

/* Takes a step of nb_stack_learn and nb_stack_twin_learn back that was done some time ago: finds
 * the weights from which the step would lead to the present ones, if it were the last. So it is
 * exact but for rounding if nothing was learned since, and else close. `inputs`: as in these
 * functions, kept for a twin and computed with the present weights; without a twin only the stack
 * is changed. Returns as nb_stack_learn. */
int nb_stack_unlearn(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                     uint32_t label, double weight);

/* ---- weights: stored form -------------------------------------------------------------------- */

/* Weights are stored as numbered records. Record 0 is the head, which names the fields and experts
 * in the order of the stored places; the others are ranges of places. A record that is not stored
 * has start values. So a commit stores only changed records, and the store stays readable when a
 * field is added or removed. */
#define NB_STACK_NO_RECORD UINT32_MAX

/* Returns the first record from number `from` on that differs from what was stored at the last
 * commit, or read; NB_STACK_NO_RECORD: no more. Takes time proportional to the number of labels,
 * not to what changed. */
uint32_t nb_stack_weights_changed(const struct nb_stack_weights *weights, uint32_t from);
/* Appends the record. Store it even if it is empty. */
void nb_stack_weights_write_record(const struct nb_stack_weights *weights, uint32_t record,
                                   struct nb_packer *to);
/* Reads a stored record into new weights that no other thread sees yet: the head first, the others
 * in any order. The record counts as stored, unless the head comes from another program version:
 * then all records count as changed. Returns 0, NB_CORRUPT or NB_NO_MEMORY; after an error only
 * nb_stack_weights_free may be called. */
int nb_stack_weights_read_record(struct nb_stack_weights *weights, uint32_t record,
                                 struct nb_string stored);

/* Write and read all records in a row, and the slots of the twin, for dumps and copies. Equal
 * weights have equal bytes, whatever their history. Reading replaces the weights, all of which
 * count as changed; it cannot be rolled back. Returns 0; 1: they are of an older form, and the
 * weights have their start values, from which a refit is due; or NB_CORRUPT or NB_NO_MEMORY with
 * the weights as they were. */
void nb_stack_weights_write(const struct nb_stack_weights *weights, struct nb_packer *to);
int nb_stack_weights_read(struct nb_stack_weights *weights, struct nb_unpacker *r);

/* ---- passages ---------------------------------------------------------------------------------
 */

/* The passage that speaks most for a label (core/stack/passages.h). */
struct nb_stack_worst {
    uint32_t first, count; /* the parts of the text of which it consists; 0: none */
    double log_odds;       /* of the label, by the passage alone, less what its size costs */
};
/* Finds the passage of a document that speaks most for the label at `place`, from inputs of a bag
 * that were computed with `wants_passages`. Under the same locks as nb_stack_score. Returns false
 * if the document has no passage, or the model more than NB_STACK_FEW_LABELS labels. */
bool nb_stack_worst_passage(const struct nb_stack *stack, const struct nb_stack_weights *weights,
                            const struct nb_stack_inputs *inputs, uint32_t place,
                            struct nb_stack_worst *worst);

/* How a document was judged before it was learned: the log-odds of the label, by the whole and by
 * its worst passage; and whether it has header fields. */
struct nb_stack_judged {
    double whole, worst;
    bool is_mail;
    bool counts_twice; /* it stands for another document, which was not judged */
};
/* Judges a document from inputs as for nb_stack_worst_passage. A document without passages is its
 * own worst. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_stack_judge(const struct nb_stack *stack, const struct nb_stack_weights *weights,
                   const struct nb_stack_inputs *inputs, uint32_t place,
                   struct nb_stack_judged *judged);
/* Whether the document has header fields, which stand in every passage. */
bool nb_stack_is_mail(const struct nb_stack_inputs *inputs);
/* The form in which the ledger keeps it: whole above, worst below, both in units of 2^-16; the
 * lowest bits of the halves are `counts_twice` and `is_mail`. */
uint64_t nb_stack_judged_pack(struct nb_stack_judged judged);
struct nb_stack_judged nb_stack_judged_unpack(uint64_t packed);

/* The margins of a passage. The log-odds of the label are
 *
 *     z = max(z_whole, max over passages z_passage - m)
 *
 * m is `plain`, or `against` where that is less and the passage contradicts the whole: z_passage -
 * z_whole > 14, as where much innocent text hides spam. Each is the least of a grid of margins
 * whose log-loss, over documents as they were judged before they were learned, is hardly above the
 * log-loss without passages: what a clean document pays. Losses fade with every judged document,
 * and begin as if small margins had cost something. INFINITY: every margin costs too much. */
struct nb_stack_margins {
    double plain, against;
};
struct nb_stack_margins nb_stack_margins(const struct nb_stack_weights *weights, bool is_mail);
/* Returns z; `worst`: the greatest z_passage. */
double nb_stack_passage_odds(double whole, double worst, struct nb_stack_margins margins);
/* Learns how a document was judged; `is_label`: it has the label. Returns 0 or NB_NO_MEMORY. */
int nb_stack_margins_learn(struct nb_stack_weights *weights, struct nb_stack_judged judged,
                           bool is_label);
/* Takes back what that has taught, when about `later` documents were judged since: but for rounding
 * if there were none; else as far as the losses have not faded. Returns 0 or NB_NO_MEMORY. */
int nb_stack_margins_unlearn(struct nb_stack_weights *weights, struct nb_stack_judged judged,
                             bool is_label, uint64_t later);
/* The log-odds of the label at `place` against all others together. */
double nb_stack_odds(const struct nb_scores *scores, uint32_t place);
/* Adds to these log-odds; those of the other labels among each other stay. */
void nb_stack_add_odds(struct nb_scores *scores, uint32_t place, double by);
/* Raises these log-odds to what a passage says, if that is more. Returns by how much. */
double nb_stack_raise(struct nb_scores *scores, uint32_t place, double log_odds);

/* ---- explanations ---------------------------------------------------------------------------- */

/* As nb_explain of core/bayes/explain.h: sets `rows` to what each feature adds to
 * ln(P(best)/P(second)); the last row is the difference of the biases. Under the same locks as
 * nb_stack_inputs and nb_stack_score, all rows sum to log_scores[best] - log_scores[second].
 * `found` as in nb_explain; `rows` has room for size + 1. If `sums` is not NULL, the same pass does
 * the work of nb_evidence_sum. Returns 0 or NB_NO_MEMORY. */
int nb_stack_explain(struct nb_stack *stack, const struct nb_model *model,
                     const struct nb_stack_weights *weights, const struct nb_feature *features,
                     size_t size, const uint32_t *found, const struct nb_stack_inputs *inputs,
                     const struct nb_scores *scores, struct nb_evidence_sums *sums,
                     struct nb_evidence *rows, size_t *count);

#endif
