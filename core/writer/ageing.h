/* SPDX-License-Identifier: Apache-2.0
 *
 * Ageing: takes out the oldest documents, exactly as untraining does. The settings `max_age` and
 * `max_documents` limit the documents of one model; the engine's setting `disk` limits those of all
 * models together. Ageing chooses the documents on the writer's thread. Each removal is a change in
 * the ledger like any other, so a replay needs no clock and no settings.
 *
 * The oldest document is the one whose last change lies furthest back in the ledger. Each commit of
 * a model also takes out a bounded number of its documents. The rest, and the documents of models
 * that nobody trains, are taken out between commits, a slice at a time.
 *
 * On the writer's thread.
 */
#ifndef NB_CORE_WRITER_AGEING_H
#define NB_CORE_WRITER_AGEING_H

#include "core/writer/staging.h"

/* Adds to the group the documents that its models should lose, at most about twice as many as the
 * group has changes. nb_ageing_end must follow when the group is committed. */
void nb_ageing_join(struct nb_engine *engine, struct nb_group *group);
void nb_ageing_end(struct nb_engine *engine);

/* Looks at some models, loaded or not, and takes out the documents that they should lose, at most
 * `most`. For a loaded model with nothing to lose, begins a pass that drops its unused features.
 * Returns whether there was something to take out. */
bool nb_ageing_some(struct nb_engine *engine, size_t most);

/* Takes out the oldest documents of all models if the store uses more than the setting `disk`.
 * Returns whether it took out any: then the caller saves all models, because the space of these
 * documents becomes free only when no start needs to replay them. */
bool nb_ageing_disk(struct nb_engine *engine);

/* Frees the memory of ageing. */
void nb_ageing_free(struct nb_engine *engine);

#endif
