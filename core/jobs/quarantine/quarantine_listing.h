/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NB_CORE_JOBS_QUARANTINE_QUARANTINE_LISTING_H
#define NB_CORE_JOBS_QUARANTINE_QUARANTINE_LISTING_H

#include "core/ledger/entries/quarantine_entries.h"
#include "core/model/learn/learner.h"
#include "core/model/learn/stored_score.h"
#include "core/model/parents/parent_chain.h"

/* Classifies documents of a quarantine with the present model. A judge belongs to one thread; for
 * core/jobs/quarantine alone. */
struct nb_judge {
    struct nb_engine *engine; /* borrowed */
    struct nb_live *live;     /* borrowed; loaded */
    struct nb_parent_chain chain;
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

#endif
