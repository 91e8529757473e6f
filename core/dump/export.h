/* SPDX-License-Identifier: Apache-2.0
 *
 * Export: a model as a dump, from one consistent state of the store.
 */
#ifndef NB_CORE_DUMP_EXPORT_H
#define NB_CORE_DUMP_EXPORT_H

#include "core/dump/dump.h"
#include "core/engine/engine.h"

/* One consistent state of a model, handed out piece by piece. One thread at a time. */
struct nb_export;

/* Begins; the caller ends it. Nothing is handed out yet. While it lasts, the store keeps the data
 * as they are now, for at most `seconds`; it takes them back to grow, which ends the export only
 * if a document of the model changes as well. NB_NOT_FOUND, NB_UNUSABLE (name), NB_DAMAGED,
 * NB_NO_MEMORY, NB_IO. *export is NULL after a failure. */
int nb_export_begin(struct nb_engine *engine, struct nb_string model, uint64_t seconds,
                    struct nb_export **export, struct nb_error *error);

/* Hands the next records to `sink`, those of some milliseconds, at first none; *end is set after
 * sink->end. What was dumped is compared with the model's totals; on a difference, or other damage,
 * the model is marked, NB_DAMAGED is returned, and sink->end is not called. Other returns: 0, what
 * the sink returns, NB_NO_MEMORY, and NB_IO. After a failure only nb_export_end is allowed. */
int nb_export_next(struct nb_export *export, const struct nb_dump_sink *sink, bool *end,
                   struct nb_error *error);

/* Whether the failure was that the store had to take the data back, because it had to grow while
 * the model changed, or the time was over: another export may work. */
bool nb_export_is_lost(const struct nb_export *export);

/* Frees it; NULL is allowed inside. */
void nb_export_end(struct nb_export **export);

/* A whole export at once. Returns as nb_export_begin and nb_export_next do. */
int nb_engine_export(struct nb_engine *engine, struct nb_string model,
                     const struct nb_dump_sink *sink, struct nb_error *error);

#endif
