/* SPDX-License-Identifier: Apache-2.0
 *
 * Ageing: the oldest documents are taken out again, exactly, as untraining does it: those of models
 * with the settings `max_age` and `max_documents`, and with the engine's setting `disk` those of
 * all models together. Which documents is decided here, on the writer's thread; each of them is a
 * change of the ledger like any other, so a replay needs no clock and no settings.
 *
 * The oldest document is the one whose last change lies furthest back in the ledger. Each commit of
 * a model takes a bounded number of its documents along; what is left, and models that nobody
 * trains, are done between commits, a slice at a time.
 *
 * On the writer's thread.
 */
#ifndef NB_CORE_WRITER_UPKEEP_AGEING_H
#define NB_CORE_WRITER_UPKEEP_AGEING_H

#include "core/writer/stage/group.h"

/* Adds to the group the documents that its models should lose, at most about twice as many as the
 * group has changes. nb_ageing_end must follow when the group is committed. */
void nb_ageing_join(struct nb_engine *engine, struct nb_group *group);
void nb_ageing_end(struct nb_engine *engine);

/* Looks at some models, loaded or not, and takes out what they should lose, at most `most`
 * documents. Of a loaded one with nothing to lose, a pass begins that drops its unused features.
 * Returns whether there was something to take out. */
bool nb_ageing_some(struct nb_engine *engine, size_t most);

/* If the store uses more than the setting `disk`: takes out the oldest documents of all models.
 * Returns whether some were: then the caller saves all models, because what the documents used
 * becomes free when no start needs them any more. */
bool nb_ageing_disk(struct nb_engine *engine);

/* Frees what ageing keeps. */
void nb_ageing_free(struct nb_engine *engine);

#endif
