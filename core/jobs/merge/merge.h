/* SPDX-License-Identifier: Apache-2.0
 *
 * Merges labels: all documents of a label get another existing label, each by its id, as if a user
 * had relabelled it. Any thread, while others train; a call takes long.
 */
#ifndef NB_CORE_JOBS_MERGE_MERGE_H
#define NB_CORE_JOBS_MERGE_MERGE_H

#include "core/engine/engine.h"

/* Documents that get labels; everything is borrowed. */
struct nb_relabelling {
    struct nb_string model, source;
    const uint64_t *numbers;        /* numbers of the documents' entries when they were found */
    size_t count;                   /* documents */
    const struct nb_string *labels; /* not empty */
    const uint32_t *places; /* index in `labels` for each document; NULL: all get the first */
};
/* Labels the documents that are still as they were found, some hundred in one commit, and adds
 * their number to *changed, also after a failure. `stop` (NULL: never) is asked before each commit.
 * Returns 0, NB_NOT_FOUND (model), NB_UNUSABLE (source), NB_STOPPING, or the code of a change that
 * failed (NB_TOO_LARGE, NB_DISK_FULL ...). */
int nb_relabel(struct nb_engine *engine, const struct nb_relabelling *what,
               bool (*stop)(void *user), void *user, uint64_t *changed, struct nb_error *error);

struct nb_merge_options {
    struct nb_string model, from, into, source;
    bool is_new; /* only with several labels: `into` must be new, so `from` is renamed */
    bool (*stop)(void *user); /* asked before each commit; NULL: never */
    void *user;
};

/* Relabels the documents of `from`, some hundred in one commit, until none is left, and sets
 * *merged to their number, also after a failure; another call then continues. The label `from`
 * stays, without documents. In a model whose documents have several labels, replaces `from` by
 * `into` in the labels of each, or takes it out (length 0). Returns 0, NB_NOT_FOUND (model, a
 * label), NB_UNUSABLE (source, or both labels are the same), NB_STOPPING, NB_DAMAGED, or the code
 * of a change that failed (NB_DISK_FULL
 * ...).
 */
int nb_label_merge(struct nb_engine *engine, const struct nb_merge_options *options,
                   uint64_t *merged, struct nb_error *error);

/* Gives the label `from` the name `to`, and waits for the disk; not in a model whose documents have
 * several labels. NB_UNUSABLE (`to`), NB_NOT_FOUND
 * (model, label), NB_CONFLICT (the label `to` exists; the settings have other numbers for it; or
 * the model has a parent or children), NB_DAMAGED. */
int nb_engine_rename_label(struct nb_engine *engine, struct nb_string model, struct nb_string from,
                           struct nb_string to, struct nb_string source, struct nb_error *error);

#endif
