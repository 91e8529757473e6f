/* SPDX-License-Identifier: Apache-2.0
 *
 * What documents without a label give a model (unlabelled.h), as it is told to whoever asks. Any
 * thread.
 */
#ifndef NB_CORE_UNLABELLED_REPORT_H
#define NB_CORE_UNLABELLED_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_engine;

/* What documents without a label give a model (core/unlabelled/unlabelled.h). */
enum nb_unlabelled_state {
    NB_UNLABELLED_OFF,     /* nothing: by the settings, or there is nothing to learn from */
    NB_UNLABELLED_WAITING, /* it is to be found; what follows is of before, or nothing */
    NB_UNLABELLED_RUNNING, /* it is being found; the same */
    NB_UNLABELLED_READY,
};
/* "off", "waiting", "running", "ready". */
const char *nb_unlabelled_state_name(enum nb_unlabelled_state state);

struct nb_unlabelled_loss {
    double log_loss, accuracy;
};
struct nb_unlabelled_report {
    enum nb_unlabelled_state state;
    unsigned fits, fits_all; /* while it runs: done, of so many */
    bool is_known;       /* it was found once; else nothing of what follows is set but `reason`: */
    double weight;       /* of a document without a label; 0: it is better without them */
    bool is_pooled;      /* stacked: a pool of what is said without them and with them */
    double share;        /* of the latter in the pool */
    double smoothing;    /* inside EM */
    uint64_t documents;  /* without a label that were looked at */
    uint64_t changed;    /* documents, with or without a label, changed or forgotten since */
    unsigned iterations; /* of EM; 0: it did not run to the end, because they weigh nothing */
    double log_likelihood, first; /* that EM maximizes, at its end and at its beginning */
    uint64_t measured; /* documents with a label that were predicted without being learned; or 0 */
    uint32_t folds;    /* in so many parts, each predicted by what the others teach; or 0 */
    struct nb_unlabelled_loss without, with; /* how well, if `measured` is not 0 */
    double seconds;
    char reason[96]; /* why it is off, or they weigh nothing although nothing was measured; or "" */
};

/* Tells it of a model that is loaded. Any thread. */
struct nb_live;
void nb_unlabelled_tell(struct nb_live *live, struct nb_unlabelled_report *report);

/* Tells the state. Returns 0, NB_UNUSABLE (name), NB_NOT_FOUND (model), NB_DAMAGED, NB_IO or
 * NB_NO_MEMORY. */
int nb_engine_unlabelled(struct nb_engine *engine, struct nb_string model,
                         struct nb_unlabelled_report *report, struct nb_error *error);
/* Finds it anew, on the caller's thread, unless somebody does already or it is off, and tells the
 * state. `stop` is asked all the time. Errors as above; NB_STOPPING, and NB_CONFLICT (the settings
 * were changed meanwhile). */
int nb_engine_refine(struct nb_engine *engine, struct nb_string model, bool (*stop)(void *user),
                     void *user, struct nb_unlabelled_report *report, struct nb_error *error);

#endif
