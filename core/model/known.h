/* SPDX-License-Identifier: Apache-2.0
 *
 * The probability that a document is of any of a model's labels ("known"), or none of these. A
 * logistic regression that needs no document of no label: while the model learns, some documents
 * teach it twice, once as they are (known), and once as if their label did not exist (unknown).
 *
 *     known = 1 / (1 + exp(-sum of w_i x_i - ln 4))
 *
 *     x  1; the shares of the document's words and n-grams that no document of the labels has, and
 *        ln(1 + number of known features). With more than two labels also: the
 *        winner's log-odds against all others, how far its score lies above the mean of the scores,
 *        their standard deviation, and the shares of words and n-grams that the winner's documents
 *        do not have. Else the share of pairs that no document has.
 *
 * An unknown example leaves its label out. If there are many labels, mostly also the label that
 * wins then: of many labels some are near each other, and most texts of no label are further from
 * all than a label is from its neighbour.
 *
 * w follows the examples by a recursive Newton method, an extended Kalman filter (Fahrmeir 1992,
 * Posterior Mode Estimation by Extended Kalman Filtering for Multivariate Dynamic Generalized
 * Linear Models): with the covariance C and y = 1 or 0,
 *
 *     C = C + drift I      p = 1 / (1 + exp(-w x))      q = p (1 - p)
 *     C = C - q Cx (Cx)' / (1 + q x'Cx)                 w = w + Cx (y - p)
 *
 * w and C are stored with the weights of the stack (nb_stack_weights_known), so they are a function
 * of the ledger. Known and unknown examples are equally many; ln 4 is for texts of which one in
 * five is of no label. On the thread that changes the model, except where said.
 * core/EXPERIMENTS.md has measurements.
 */
#ifndef NB_CORE_MODEL_KNOWN_H
#define NB_CORE_MODEL_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/feature.h"
#include "core/ledger/bag_coding.h"
#include "core/model/live.h"
#include "core/stack/stack.h"

enum { NB_KNOWN_INPUTS = 9 };

/* The kinds of features whose shares are told apart. */
enum nb_known_kind { NB_KNOWN_WORDS, NB_KNOWN_PAIRS, NB_KNOWN_NGRAMS, NB_KNOWN_KINDS };
/* Features of a document: all, those that no document of the labels has, and those that no document
 * of the winner has. */
struct nb_known_seen {
    uint32_t all[NB_KNOWN_KINDS], unknown[NB_KNOWN_KINDS], foreign[NB_KNOWN_KINDS];
};
/* The number of features that some document has. Any thread. */
uint32_t nb_known_count(const struct nb_known_seen *seen);

/* Counts the features of a bag, whose cells were found. `fields`: how many each field has, as
 * struct nb_stack_inputs has them; NULL: they are counted. Any thread. */
void nb_known_see(const struct nb_feature *features, const uint64_t *cells, size_t size,
                  const uint32_t fields[NB_STACK_GROUPS], struct nb_known_seen *seen);
/* Counts the features that no document of the label has, in rows that were found (NB_NO_ROW: none).
 * Any thread, under the model's read lock. */
void nb_known_see_foreign(const struct nb_model *model, const struct nb_feature *features,
                          const uint32_t *rows, size_t size, uint32_t label,
                          struct nb_known_seen *seen);
/* Adds one feature: whether any label has it, or it is a number, and whether the winner has it. */
void nb_known_add(struct nb_known_seen *seen, uint64_t id, bool is_known, bool is_own);
/* Sets the inputs. `scores`: those of the stack for more than two labels, ranked and moderated;
 * NULL: none, and `foreign` is not used. Any thread. */
void nb_known_put(const struct nb_known_seen *seen, const struct nb_scores *scores,
                  double x[NB_KNOWN_INPUTS]);
/* Returns `known`; NaN if the regression has learned fewer than NB_KNOWN_LEAST documents. Any
 * thread, under the lock of the weights. */
enum { NB_KNOWN_LEAST = 20 };
double nb_known_of(const struct nb_weights *numbers, const double x[NB_KNOWN_INPUTS]);
/* How many documents have taught the regression. As nb_known_of. */
double nb_known_taught(const struct nb_weights *numbers);
/* Learns an example, while the model has so many documents: a small model changes fast. Changes
 * nothing if NB_NO_MEMORY is returned, else returns 0. The caller holds the lock of the weights for
 * writing. */
int nb_known_learn(struct nb_weights *numbers, const double x[NB_KNOWN_INPUTS], bool is_known,
                   uint64_t documents);

/* Memory for lessons, reused. `{0}` is empty. */
struct nb_known_teacher {
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
};
void nb_known_teacher_deinit(struct nb_known_teacher *teacher);
/* Whether the newest document of the model should teach: each of the first 128, then fewer. */
bool nb_known_wants(const struct nb_live *live);
/* Whether the documents of a refit's sample should teach: the regression has learned few. */
bool nb_known_is_young(const struct nb_live *live);
/* Teaches a counted document, once as it is and once without its label. `inputs`: its leave-one-out
 * inputs to the stack; NULL: the model is by the book. `book`: then the scores that it had before
 * it was counted, which are changed; NULL: scores are not used. Does nothing unless two other
 * documents have the label. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_known_teach(struct nb_known_teacher *teacher, struct nb_live *live,
                   const struct nb_stack_inputs *inputs, struct nb_scores *book,
                   const struct nb_rows *rows, uint32_t label);
/* Whether the regression of a model of so many labels uses their scores. Any thread. */
bool nb_known_uses_scores(const struct nb_settings *settings, size_t labels);
/* Forgets everything, for a refit that must leave no trace of forgotten documents. Returns 0 or
 * NB_NO_MEMORY. */
int nb_known_reset(struct nb_live *live);

#endif
