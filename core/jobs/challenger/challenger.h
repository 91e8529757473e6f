/* SPDX-License-Identifier: Apache-2.0
 *
 * Challengers. The challenger of a model, the champion, is a model of its own with other settings
 * that learns what the champion learns, in the same order, and does not answer. Both score each
 * document before they learn it, so they are compared on the same documents. The challenger of
 * "mail" has the name "mail.challenger".
 *
 * It follows the champion's ledger and keeps no place of its own there: what it lacks follows from
 * the documents of both. It first learns all documents that the champion has, in the order of their
 * current entries; then it follows each new entry within a fraction of a second. After a start, a
 * kill, an undo or an import it compares the documents of both and makes up the difference. An
 * entry that a later one has superseded by then is skipped.
 *
 * The champion and the other models know nothing of it. Only its thread changes a challenger.
 */
#ifndef NB_CORE_JOBS_CHALLENGER_CHALLENGER_H
#define NB_CORE_JOBS_CHALLENGER_CHALLENGER_H

#include "core/engine/engine.h"

struct nb_challenger;

/* ---- making and ending ----------------------------------------------------------------------- */

/* What a challenger costs, about. */
struct nb_challenger_cost {
    uint64_t documents; /* that it will learn first */
    uint64_t memory;    /* bytes of its counts when it has learned them; 0: not known, because the
                           champion is not loaded */
    uint64_t disk;      /* bytes of its entries in the ledger then */
};
/* Fills *cost. Returns 0, NB_NOT_FOUND (model), NB_DAMAGED, NB_IO or NB_NO_MEMORY. Any thread. */
int nb_challenger_cost(struct nb_engine *engine, struct nb_string model,
                       struct nb_challenger_cost *cost, struct nb_error *error);

/* Checks that the model can have a challenger with these settings. Returns 0; NB_NOT_FOUND: there
 * is no such model; NB_CONFLICT: it has a challenger, or is one, or the name of its challenger is
 * in use, or the documents were counted otherwise, or several nodes share their changes;
 * NB_UNUSABLE: its name is too long, or the settings differ from those of the model only, or also,
 * in what does not change verdicts. Any thread. */
int nb_challenger_check(struct nb_engine *engine, struct nb_string model,
                        const struct nb_settings *settings, struct nb_error *error);
/* Makes the challenger of a model with these settings, after nb_challenger_check. Returns as that
 * does and as nb_engine_put_model. Waits for the disk. Any thread. */
int nb_challenger_make(struct nb_engine *engine, struct nb_string model,
                       const struct nb_settings *settings, struct nb_string source,
                       struct nb_error *error);
/* Gives the model the settings of its challenger, and then deletes that. The documents stay as they
 * are. A crash in between leaves the challenger, with the settings that the model has, too. Returns
 * 0, NB_NOT_FOUND (there is none), or as nb_engine_put_model and nb_engine_delete_model. */
int nb_challenger_promote(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                          struct nb_error *error);
/* Deletes the challenger of a model, which need not exist any more. NB_NOT_FOUND: it has none. */
int nb_challenger_drop(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                       struct nb_error *error);

/* Calls `visit` with the name of each model that has a challenger. Returns 0 or NB_NO_MEMORY. */
int nb_challengers_visit(struct nb_engine *engine, void (*visit)(void *user, const char *model),
                         void *user, struct nb_error *error);

/* Fills `info`, which the caller deinits, with the challenger of a model. NB_NOT_FOUND: it has
 * none.
 */
int nb_challenger_model(struct nb_engine *engine, struct nb_string model,
                        struct nb_model_info *info, struct nb_error *error);

/* ---- following ------------------------------------------------------------------------------- */

/* A challenger that is followed up; one thread at a time. NULL: out of memory. */
struct nb_challenger *nb_challenger_new(struct nb_engine *engine, const char *model);
void nb_challenger_free(struct nb_challenger **challenger);

/* Does a bounded part of the work: learns up to some hundred documents, and waits for the disk.
 * Sets *is_idle to whether nothing is left. Returns 0; NB_NOT_FOUND: the champion or the challenger
 * is gone; or a code, after which the next call tries again. */
int nb_challenger_step(struct nb_challenger *challenger, bool *is_idle, struct nb_error *error);

/* ---- comparing ------------------------------------------------------------------------------- */

/* One of the two over the compared documents. */
struct nb_challenger_figures {
    uint64_t errors;
    double log_loss; /* mean of -ln P(right label), probabilities clipped to 1e-6 */
};

/* Most documents that are compared, the last ones by their current entries: 5 seconds. */
enum { NB_CHALLENGER_COMPARED = 100000 };

/* The same documents, scored by both before they were learned. */
struct nb_challenger_window {
    uint64_t window;    /* documents at most; 0: all */
    uint64_t documents; /* that both have scored; 0: the rest is NAN or 0 */
    struct nb_challenger_figures champion, challenger;
    /* Documents that only one was right about, and the probability that they are as unequal as
     * this, or more so, if both were equally good: McNemar's test, exact (McNemar 1947; Agresti
     * 2013, section 11.1). */
    uint64_t only_champion, only_challenger;
    double mcnemar_p;
    /* Mean of the challenger's loss less the champion's, its standard error, and the two-sided
     * probability by the normal distribution. */
    double difference, error, difference_p;
};

struct nb_challenger_stretch {
    uint64_t documents, champion_errors, challenger_errors;
};

struct nb_challenger_report {
    struct nb_challenger_window windows[NB_EVALUATION_WINDOWS];
    struct nb_challenger_stretch progress[NB_PROGRESS_STRETCHES]; /* of all, oldest first */
    size_t progress_count;
    uint64_t behind; /* documents of the champion that the challenger does not have, or not so */
};
/* Compares a model with its challenger; takes long. Documents without a score of both are left out.
 * `stop` (NULL: never) is asked now and then. Returns 0, NB_NOT_FOUND (model, challenger),
 * NB_STOPPING, NB_CORRUPT, NB_IO or NB_NO_MEMORY. Any thread. */
int nb_challenger_compare(struct nb_engine *engine, struct nb_string model,
                          bool (*stop)(void *user), void *user, struct nb_challenger_report *report,
                          struct nb_error *error);

/* McNemar's exact two-sided probability. For its test. */
double nb_mcnemar(uint64_t only_a, uint64_t only_b);

#endif
