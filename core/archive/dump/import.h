/* SPDX-License-Identifier: Apache-2.0
 *
 * Import: makes a model from a dump, completely or not at all.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_IMPORT_H
#define NB_CORE_ARCHIVE_DUMP_IMPORT_H

#include "core/archive/dump/dump.h"
#include "core/engine/engine.h"

/* An import under way. The model becomes visible with nb_import_commit; after a crash the next
 * start deletes the data of an unfinished import. One thread at a time; each call may wait for the
 * disk. After an error the import can only be aborted. NB_INVALID: the record does not fit the
 * earlier records; the error's text says why. */
struct nb_import;

/* Begins an import that will create or replace `model`. On success the caller owns *import. */
int nb_import_begin(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                    struct nb_import **import, struct nb_error *error);
int nb_import_header(struct nb_import *import, const struct nb_dump_header *header,
                     struct nb_error *error);
int nb_import_words(struct nb_import *import, const struct nb_dump_words *words,
                    struct nb_error *error);
int nb_import_document(struct nb_import *import, const struct nb_dump_document *document,
                       struct nb_error *error);
/* Forbids replacing a model: nb_import_commit then returns NB_CONFLICT if the model exists. */
void nb_import_only_new(struct nb_import *import);
/* Completes the import: creates `model`, or replaces it, even if it is damaged. `totals` are those
 * at the end of the dump (NULL: it has none); NB_INVALID if the records differ from them. Errors
 * about a parent or a child are those of nb_engine_put_model. Frees the import in any case
 * and sets *import to NULL. On success sets *created (false: a model was replaced), and *dropped to
 * the number of changes in the quarantine that could not be kept: all of them, if one is damaged,
 * or if the features of the two models are hashed under different keys. */
int nb_import_commit(struct nb_import **import, const struct nb_dump_totals *totals, bool *created,
                     uint64_t *dropped, struct nb_error *error);
/* Aborts and frees the import and sets *import to NULL; *import may be NULL already. */
void nb_import_abort(struct nb_import **import);

#endif
