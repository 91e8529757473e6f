/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of bayesc, one file each, here or in generative/. Main thread.
 */
#ifndef NB_CLIENT_COMMANDS_H
#define NB_CLIENT_COMMANDS_H

#include "server/client/base/flags.h"

extern const struct nb_command NB_COMMAND_TRAIN, NB_COMMAND_UNTRAIN, NB_COMMAND_CLASSIFY,
    NB_COMMAND_EXPLAIN, NB_COMMAND_FILTER, NB_COMMAND_MODELS, NB_COMMAND_STATS, NB_COMMAND_EVALUATE,
    NB_COMMAND_EXPORT, NB_COMMAND_IMPORT, NB_COMMAND_UNDO, NB_COMMAND_BACKUP, NB_COMMAND_QUARANTINE,
    NB_COMMAND_REFIT, NB_COMMAND_SAMPLE, NB_COMMAND_NETWORK;

#endif
