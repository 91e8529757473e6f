/* SPDX-License-Identifier: Apache-2.0
 *
 * A model made from another one: a posterior becomes a prior (sequential learning). The new model
 * has the settings and the learned documents of the old one. What it learns later adds to them, as
 * if one model had learned all of it: the counts are the same integers. After the copy the two
 * models are independent.
 *
 * At less than full strength the new model begins empty, and a frozen copy of the old one, a model
 * of its own, is its parent (core/stack/blend.h): the prior weighs as much as `strength`
 * documents at most, and ever less as the new model learns. A prior and a parent share one code
 * path, so explanations, dumps and refusals are the same.
 */
#ifndef NB_CORE_ARCHIVE_COPY_COPY_H
#define NB_CORE_ARCHIVE_COPY_COPY_H

#include "core/engine/engine.h"

/* The copy to make; all members are borrowed. */
struct nb_copy {
    struct nb_string from, to; /* names */
    struct nb_string source;   /* kept with the changes */
    uint64_t seconds;          /* how long the store may keep the snapshot of `from` */
    bool (*stop)(void *user);  /* asked every few milliseconds; true ends it with NB_STOPPING */
    void *user;
};

/* Makes the model `to` from one consistent state of `from`; waits for the disk. Returns 0;
 * NB_NOT_FOUND: there is no `from`; NB_CONFLICT: `to` exists; NB_UNUSABLE: `to` is no valid name;
 * the codes of nb_engine_put_model if a parent forbids the copy; or the codes of an export and an
 * import. An unfinished model is never visible. */
int nb_model_copy(struct nb_engine *engine, const struct nb_copy *copy, struct nb_error *error);

/* Makes the import of NB_RELAYED_CHANGE_IMPORT, as all nodes do: from its parts
 * (core/archive/dump/parts.h), or as a copy of a model, which is in the same state on all nodes;
 * the new model must not exist. On the thread that applies changes. The transaction that makes the
 * model visible deletes the parts; a refusal deletes them, too. Returns as nb_import_commit, or
 * NB_CONFLICT: the import was given up. After a temporary error (nb_error_is_passing) the caller
 * can try again. */
struct nb_relayed_change;
struct nb_relayed_change_done;
int nb_import_shared(struct nb_engine *engine, const struct nb_relayed_change *asked,
                     struct nb_relayed_change_done *done, struct nb_error *error);

/* The name of a model's prior is the name of the model with this suffix. */
#define NB_PRIOR_SUFFIX ".prior"

/* Makes the model `to` with the settings of `from` and without documents. Its parent is a copy of
 * `from`, named `to` with NB_PRIOR_SUFFIX, which weighs as `strength` documents. Returns as
 * nb_model_copy does, for both models, and NB_UNUSABLE or NB_CONFLICT if the settings of `from`
 * allow no parent. A failure leaves neither model, a crash at most the copy. */
int nb_model_copy_prior(struct nb_engine *engine, const struct nb_copy *copy, uint64_t strength,
                        struct nb_error *error);

#endif
