/* SPDX-License-Identifier: Apache-2.0
 *
 * A model made from another one: a posterior becomes a prior (sequential learning). The new model
 * has the settings of the old one and the documents that it has learned, so what it learns from
 * then on comes to what the old one knew, as if one model had learned all of it: the counts are the
 * same integers. From then on neither knows of the other.
 *
 * At less than full strength the new model begins empty, and a frozen copy of the old one, a model
 * of its own, is its parent (core/stack/blend/blend.h): the prior weighs as so many documents at
 * most, and less and less as the new model learns. That a prior and a parent are one code path
 * keeps explanations, dumps and refusals the same.
 */
#ifndef NB_CORE_ARCHIVE_COPY_COPY_H
#define NB_CORE_ARCHIVE_COPY_COPY_H

#include "core/engine/engine.h"

/* What is to be made; all of it is borrowed. */
struct nb_copy {
    struct nb_string from, to; /* names */
    struct nb_string source;   /* kept with the changes */
    uint64_t seconds;          /* how long the store may keep the state that is copied */
    bool (*stop)(void *user);  /* asked every few milliseconds; true ends it with NB_STOPPING */
    void *user;
};

/* Makes the model `to` from one consistent state of `from`; waits for the disk. Returns 0;
 * NB_NOT_FOUND: there is no `from`; NB_CONFLICT: `to` exists; NB_UNUSABLE: its name cannot be one,
 * or as nb_engine_put_model where a parent forbids it; or what an export and an import return.
 * Nothing is visible of a model that was not finished. */
int nb_model_copy(struct nb_engine *engine, const struct nb_copy *copy, struct nb_error *error);

/* Makes the copy of NB_ERRAND_IMPORT, which all nodes make of the same state; on the thread that
 * applies. Returns as nb_import_shared (core/archive/dump/shared.h), for a model that must be new.
 */
struct nb_relayed_change;
int nb_copy_shared(struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                   struct nb_error *error);

/* The name of the copy that is the prior of a model of this name. */
#define NB_PRIOR_SUFFIX ".prior"

/* Makes the model `to` with the settings of `from` and without documents, whose parent is a copy of
 * `from` with the name of `to` and NB_PRIOR_SUFFIX, and outweighs it with `strength` documents.
 * Returns as nb_model_copy, for both models, and NB_UNUSABLE or NB_CONFLICT where the settings of
 * `from` allow no parent. A failure leaves neither, a crash at most the copy. */
int nb_model_copy_prior(struct nb_engine *engine, const struct nb_copy *copy, uint64_t strength,
                        struct nb_error *error);

#endif
