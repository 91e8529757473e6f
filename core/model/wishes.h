/* SPDX-License-Identifier: Apache-2.0
 *
 * Thresholds that are chosen for a wished precision (the setting `thresholds`), on the verdicts
 * that documents got which the model had not learned then. The choice is a pure function; the
 * engine makes it when the documents have changed (core/engine/precision.c), and the published
 * settings keep it. Any thread.
 */
#ifndef NB_CORE_MODEL_WISHES_H
#define NB_CORE_MODEL_WISHES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bayes/settings.h"

/* A verdict for the label: its probability, and whether the document has it. */
struct nb_wish_verdict {
    double probability;
    bool is_right;
};

/* A threshold, and the verdicts that reach it. */
struct nb_wish {
    double threshold; /* INFINITY: no verdict is sure enough */
    uint64_t given, right;
};

/* Chooses the lowest threshold from which on verdicts for the label are right in the share
 * `precision`, even if one more of them had been wrong: so few verdicts show no high precision, for
 * which at least precision / (1 - precision) are needed. Sorts `verdicts`. */
struct nb_wish nb_wish_choose(struct nb_wish_verdict *verdicts, size_t count, double precision);

/* The state of the documents that a choice was made of. */
struct nb_wishes_state {
    uint64_t documents, replaced; /* with a label; nb_live.replaced */
    bool is_left_out;             /* by leave-one-out scores, not those before learning ... */
    bool awaits_refit;            /* ... whose weights are to be fitted anew */
};

struct nb_wishes {
    pthread_mutex_t making; /* held while a choice is made */
    pthread_mutex_t lock;   /* of what follows; held briefly, also under the model's read lock */
    bool is_made;
    struct nb_wishes_state state;
    size_t count;          /* of the settings' thresholds */
    struct nb_wish *found; /* owned; by the place of the threshold in the settings */
};

/* Sets *wishes to those of the settings, none of them made; NULL if none is a precision. Returns 0
 * or NB_NO_MEMORY. */
int nb_wishes_new(const struct nb_settings *settings, struct nb_wishes **wishes);
void nb_wishes_free(struct nb_wishes **wishes);
/* The choice for the threshold at this place of the settings; threshold INFINITY: not made yet. */
struct nb_wish nb_wishes_found(struct nb_wishes *wishes, size_t place);
/* Whether the choices are by leave-one-out scores. */
bool nb_wishes_are_left_out(struct nb_wishes *wishes);
/* Whether a choice is to be made: there is none, or more than a twentieth of the documents have
 * changed since, or the scores are of another kind or of new weights. Sets *is_made to whether
 * there is one. */
bool nb_wishes_are_due(struct nb_wishes *wishes, const struct nb_wishes_state *now, bool *is_made);
/* Sets the choices; `found` is copied. */
void nb_wishes_set(struct nb_wishes *wishes, const struct nb_wishes_state *state,
                   const struct nb_wish *found);

#endif
