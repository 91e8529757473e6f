/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model would say now of a document in its quarantine. A judge belongs to one thread; for
 * core/jobs/quarantine alone.
 */
#ifndef NB_CORE_JOBS_QUARANTINE_JUDGE_H
#define NB_CORE_JOBS_QUARANTINE_JUDGE_H

#include "core/ledger/entries/quarantine.h"
#include "core/model/learn/learner.h"
#include "core/model/learn/stored_score.h"
#include "core/model/parents/family.h"

struct nb_judge {
    struct nb_engine *engine; /* borrowed */
    struct nb_live *live;     /* borrowed; loaded */
    struct nb_family family;
    struct nb_published *published;
    struct nb_learner *learner;
    struct nb_feature *features; /* owned */
    size_t room;
    struct nb_buffer record;
    struct nb_stored_score_lists lists;
    /* The last judgement: */
    struct nb_stored_score scored; /* its stored form is in `record` */
    bool has_label; /* the model knows the label that waits; else scored.label is 0 */
    bool has_verdict;
    uint32_t best;      /* label number; with has_verdict */
    double probability; /* of the label that waits */
};

/* Returns 0 or NB_NO_MEMORY; deinit in any case. */
int nb_judge_init(struct nb_judge *judge, struct nb_engine *engine, struct nb_live *live);
void nb_judge_deinit(struct nb_judge *judge);
/* Judges a document. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_judge_one(struct nb_judge *judge, const struct nb_quarantined *quarantined,
                 struct nb_error *error);

#endif
