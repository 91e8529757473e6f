/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of bayesc and their options. Main thread.
 */
#ifndef NB_CLIENT_COMMANDS_H
#define NB_CLIENT_COMMANDS_H

#include "server/client/base/exchange.h"
#include "server/client/commands/mail_status.h"
#include "server/client/files/files.h"

/* What the flags of all commands set; bayesc.1 explains them. Texts are borrowed from the command
 * line. */
struct nb_command_options {
    struct nb_files_options files;
    const char *source, *by; /* whose changes are meant; who makes this change */
    const char *from, *to, *until, *format, *preset, *positive, *roc, *reliability, *verdict,
        *contains, *separator;
    struct nb_flag_list ids, settings, variants, of, given;
    uint64_t connections, folds, seed, tokens, limit, lines, top, evidence, strength, pause;
    uint64_t length, estimates, clusters, restarts, separators;
    double seconds, split, temperature, interval, threshold, min_known, alpha, prior;
    bool is_sure, is_quiet, is_new_label, is_unlabelled, is_attached, is_in_order, is_csv;
    bool is_online, is_by_part, is_merged, is_replacing, is_tempfail, is_bogofilter, is_remembered;
    bool dry_run, show, all, members, apply, has_settings;
    struct nb_status_fields fields;
    struct nb_status_thresholds thresholds;
};

/* Rows of tables of flags that several commands have. */
#define NB_SOURCE_FLAG NB_TEXT("source", 0, source)
#define NB_BY_FLAG NB_TEXT("by", 0, by)
#define NB_YES_FLAG NB_SWITCH("yes", 'y', is_sure)
#define NB_QUIET_FLAG NB_SWITCH("quiet", 'q', is_quiet)
#define NB_ID_FLAG NB_LIST("id", 'i', ids)

extern const struct nb_command NB_COMMAND_TRAIN, NB_COMMAND_UNTRAIN, NB_COMMAND_CLASSIFY,
    NB_COMMAND_EXPLAIN, NB_COMMAND_FILTER, NB_COMMAND_MODELS, NB_COMMAND_STATS, NB_COMMAND_EVALUATE,
    NB_COMMAND_EXPORT, NB_COMMAND_IMPORT, NB_COMMAND_UNDO, NB_COMMAND_BACKUP, NB_COMMAND_QUARANTINE,
    NB_COMMAND_REFIT, NB_COMMAND_SAMPLE, NB_COMMAND_NETWORK, NB_COMMAND_RENAME_LABEL,
    NB_COMMAND_DELETE_LABEL, NB_COMMAND_DERIVE, NB_COMMAND_CLUSTER, NB_COMMAND_CREATE,
    NB_COMMAND_SET, NB_COMMAND_SHOW, NB_COMMAND_DELETE, NB_COMMAND_BENCH, NB_COMMAND_RESTORE,
    NB_COMMAND_EM, NB_COMMAND_WATCH, NB_COMMAND_NODES, NB_COMMAND_STATUS, NB_COMMAND_SUSPECTS,
    NB_COMMAND_CHALLENGER;

/* Used by bayesc bench. Returns a quantile of the times by nearest rank: the least time whose rank
 * is at least share * count; 0 if `count` is 0. `share` is above 0 and at most 1. */
uint64_t nb_load_quantile(const uint64_t *times, size_t count, double share);

#endif
