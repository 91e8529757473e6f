/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents of a model as a table: a row for each current document, with its label and its
 * values of categories. Any thread; the callers wait for the disk.
 *
 * The ledger is read some hundred documents at a time, each step in a snapshot of its own, so that
 * the store need not keep old pages for long. Training may go on between steps: documents learned
 * meanwhile may be among the rows or not.
 */
#ifndef NB_CORE_JOBS_GENERATE_GENERATED_DOCUMENTS_H
#define NB_CORE_JOBS_GENERATE_GENERATED_DOCUMENTS_H

#include "core/engine/engine.h"

struct nb_documents;

/* Begins a table with the named fields, or with all categories of the model if `count` is 0. On
 * success the caller ends it. Returns 0, NB_NOT_FOUND (model), NB_UNUSABLE (a field that the model
 * does not have, that is no category, or that is named twice; or the model has no category),
 * NB_DAMAGED, NB_IO or NB_NO_MEMORY. */
int nb_documents_begin(struct nb_engine *engine, struct nb_string model,
                       const struct nb_string *fields, size_t count,
                       struct nb_documents **documents, struct nb_error *error);
void nb_documents_end(struct nb_documents **documents);

/* The fields, in the order in which they were named; names are borrowed until the end. */
size_t nb_documents_fields(const struct nb_documents *documents);
struct nb_string nb_documents_field(const struct nb_documents *documents, size_t field);

/* Called for each document with its label and, by field, its values, all borrowed for the call; a
 * value's bytes are NULL if the document has none. Returns 0 to go on. */
typedef int nb_documents_visit(void *user, struct nb_string label, const struct nb_string *values,
                               struct nb_error *error);
/* Walks over the documents, only once, in the order in which they were learned. `stop` is asked now
 * and then: true ends the walk with NB_STOPPING. Returns 0, what `visit` returns, NB_CONFLICT
 * (texts of values were not kept), NB_STOPPING, or what reading the store can return. */
int nb_documents_walk(struct nb_documents *documents, bool (*stop)(void *), void *stop_user,
                      nb_documents_visit *visit, void *user, struct nb_error *error);

#endif
