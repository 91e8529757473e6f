/* SPDX-License-Identifier: Apache-2.0
 *
 * Merging labels: all documents of a label get another one that there is, each by its id, as if
 * somebody had relabelled it so. Any thread, while others go on to train; a call takes long.
 */
#ifndef NB_CORE_JOBS_MERGE_MERGE_H
#define NB_CORE_JOBS_MERGE_MERGE_H

#include "core/engine/engine.h"

struct nb_merge_options {
    struct nb_string model, from, into, source;
    bool (*stop)(void *user); /* asked before each commit; NULL: never */
    void *user;
};

/* Relabels the documents of `from`, some hundred in one commit, until there is none left, and sets
 * *merged to how many, also when it fails: then a further call goes on. The label `from` stays,
 * without documents. Returns 0, NB_NOT_FOUND (model, a label), NB_UNUSABLE (source, or the labels
 * are one), NB_STOPPING, NB_DAMAGED, or why a change was not made (NB_DISK_FULL ...). */
int nb_label_merge(struct nb_engine *engine, const struct nb_merge_options *options,
                   uint64_t *merged, struct nb_error *error);

/* Renaming a label. Any thread; waits for the disk. */

/* Gives the label `from` the name `to`. NB_UNUSABLE (`to`), NB_NOT_FOUND (model, label),
 * NB_CONFLICT (there is a label `to`; the settings have other numbers for it; or the model has a
 * parent or children), NB_DAMAGED. */
int nb_engine_rename_label(struct nb_engine *engine, struct nb_string model, struct nb_string from,
                           struct nb_string to, struct nb_string source, struct nb_error *error);

#endif
