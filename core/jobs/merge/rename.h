/* SPDX-License-Identifier: Apache-2.0
 *
 * Renaming a label. Any thread; waits for the disk.
 */
#ifndef NB_CORE_JOBS_MERGE_RENAME_H
#define NB_CORE_JOBS_MERGE_RENAME_H

#include "core/engine/engine.h"

/* Gives the label `from` the name `to`. NB_UNUSABLE (`to`), NB_NOT_FOUND (model, label),
 * NB_CONFLICT (there is a label `to`; the settings have other numbers for it; or the model has a
 * parent or children), NB_DAMAGED. */
int nb_engine_rename_label(struct nb_engine *engine, struct nb_string model, struct nb_string from,
                           struct nb_string to, struct nb_string source, struct nb_error *error);

#endif
