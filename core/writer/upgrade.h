/* SPDX-License-Identifier: Apache-2.0
 *
 * Upgrades of models. What is stored of a model beside the ledger follows from its entries: labels,
 * rows, weights and slots of the twin. If an older version computed them (NB_DERIVED_VERSION of
 * core/ledger/record.h), they are computed anew: the model's entries are replayed in memory, a few
 * at a time, and the result replaces what is stored. Until then the model cannot be used
 * (nb_live_check says why), and all other models can.
 *
 * The ledger stays as it is. The state record is written last, with the new version, so an upgrade
 * that was cut off begins again with the next start. A model whose entries do not fit each other is
 * damaged afterwards; so is one whose features were stored without their texts by a version that
 * hashed them otherwise.
 *
 * On the writer's thread, or before there is one.
 */
#ifndef NB_CORE_WRITER_UPGRADE_H
#define NB_CORE_WRITER_UPGRADE_H

#include "core/model/state.h"

/* Does a step of some milliseconds. Returns whether there is another one to do; false also after a
 * failure, such as a full disk: a later call begins the model again. */
bool nb_upgrade_some(struct nb_engine *engine);

/* Upgrades all models. Returns 0 or the code of a failed transaction. */
int nb_upgrade_all(struct nb_engine *engine, struct nb_error *error);

/* Gives up the upgrade that is under way, before the engine is closed. */
void nb_upgrade_end(struct nb_engine *engine);

#endif
