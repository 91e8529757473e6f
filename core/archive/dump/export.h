/* SPDX-License-Identifier: Apache-2.0
 *
 * Export: a model as a dump, from one consistent state of the store.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_EXPORT_H
#define NB_CORE_ARCHIVE_DUMP_EXPORT_H

#include "core/archive/dump/dump.h"
#include "core/engine/engine.h"

struct nb_export;

/* An export of one consistent state of a model, step by step. One thread at a time. */

/* Begins an export; no record is written yet. The caller ends it with nb_export_end. Until then,
 * but at most for `seconds`, the store keeps the present state in a snapshot. If the store must
 * grow, it ends the snapshot; the export then continues with a later one, and fails only if a
 * document of the model has changed in between. Returns 0, NB_NOT_FOUND, NB_UNUSABLE (a bad name),
 * NB_DAMAGED, NB_NO_MEMORY or NB_IO. *export is NULL after a failure. */
int nb_export_begin(struct nb_engine *engine, struct nb_string model, uint64_t seconds,
                    struct nb_export **export, struct nb_error *error);

/* Passes the next records to `sink`, for some milliseconds; the first calls pass none.
 * Sets *end to true after sink->end. At the end the dumped documents are compared with the model's
 * totals; if they differ, or other damage is found, the model is marked as damaged, NB_DAMAGED is
 * returned, and sink->end is not called. Other returns: 0, what the sink returns, NB_NO_MEMORY and
 * NB_IO. After a failure only nb_export_end is allowed. */
int nb_export_next(struct nb_export *export, const struct nb_dump_sink *sink, bool *end,
                   struct nb_error *error);

/* Whether the export failed because its snapshot was lost: the store had to grow while the model
 * changed, or the time was over. A new export may succeed. */
bool nb_export_is_lost(const struct nb_export *export);

/* Frees the export and sets *export to NULL; *export may be NULL already. */
void nb_export_end(struct nb_export **export);

/* Runs a whole export. Returns as nb_export_begin and nb_export_next do. */
int nb_engine_export(struct nb_engine *engine, struct nb_string model,
                     const struct nb_dump_sink *sink, struct nb_error *error);

#endif
