/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of bayesc. Main thread.
 */
#ifndef NB_CLIENT_COMMANDS_H
#define NB_CLIENT_COMMANDS_H

#include "server/client/base/flags.h"

extern const struct nb_command NB_COMMAND_TRAIN, NB_COMMAND_UNTRAIN, NB_COMMAND_CLASSIFY,
    NB_COMMAND_EXPLAIN, NB_COMMAND_FILTER, NB_COMMAND_MODELS, NB_COMMAND_STATS, NB_COMMAND_EVALUATE,
    NB_COMMAND_EXPORT, NB_COMMAND_IMPORT, NB_COMMAND_UNDO, NB_COMMAND_BACKUP, NB_COMMAND_QUARANTINE,
    NB_COMMAND_REFIT, NB_COMMAND_SAMPLE, NB_COMMAND_NETWORK, NB_COMMAND_RENAME_LABEL,
    NB_COMMAND_DELETE_LABEL, NB_COMMAND_DERIVE, NB_COMMAND_CLUSTER, NB_COMMAND_CREATE,
    NB_COMMAND_SET, NB_COMMAND_SHOW, NB_COMMAND_DELETE, NB_COMMAND_BENCH, NB_COMMAND_RESTORE,
    NB_COMMAND_EM, NB_COMMAND_WATCH, NB_COMMAND_NODES, NB_COMMAND_STATUS, NB_COMMAND_SUSPECTS;

/* Used by bayesc bench. Returns a quantile of the times by nearest rank: the least time whose rank
 * is at least share * count; 0 if `count` is 0. `share` is above 0 and at most 1. */
uint64_t nb_load_quantile(const uint64_t *times, size_t count, double share);

#endif
