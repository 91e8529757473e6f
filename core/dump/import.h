/* SPDX-License-Identifier: Apache-2.0
 *
 * Import: a dump becomes a model, all of it or nothing.
 */
#ifndef NB_CORE_DUMP_IMPORT_H
#define NB_CORE_DUMP_IMPORT_H

#include "core/dump/dump.h"
#include "core/engine/engine.h"

/* An import under way. Nothing of it is visible until nb_import_commit; after a crash the next
 * start deletes what it has stored. One thread at a time; each call may wait for the disk. After an
 * error the import can only be aborted. NB_INVALID: the record does not fit what came before; the
 * text says why. */
struct nb_import;
/* Begins an import of what shall be `model`. On success the caller owns *import. */
int nb_import_begin(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                    struct nb_import **import, struct nb_error *error);
int nb_import_header(struct nb_import *import, const struct nb_dump_header *header,
                     struct nb_error *error);
int nb_import_words(struct nb_import *import, const struct nb_dump_words *words,
                    struct nb_error *error);
int nb_import_document(struct nb_import *import, const struct nb_dump_document *document,
                       struct nb_error *error);
/* The import does not replace a model: its commit returns NB_CONFLICT if there is one by then. */
void nb_import_only_new(struct nb_import *import);
/* Puts the imported model in the place of `model`, which is made or replaced, also if it is
 * damaged. `totals` are those that the end of the dump has (NULL: it has none); NB_INVALID if
 * something else came; as nb_engine_put_model where a parent or a child forbids it. Frees the
 * import in any case and sets *import to NULL. On success sets *created, and *dropped to how many
 * changes that waited in the quarantine could not be kept: all of them, where one is damaged, or
 * the features of the two models are hashed under other keys. */
int nb_import_commit(struct nb_import **import, const struct nb_dump_totals *totals, bool *created,
                     uint64_t *dropped, struct nb_error *error);
/* Gives the import up, frees it and sets *import to NULL. */
void nb_import_abort(struct nb_import **import);

#endif
