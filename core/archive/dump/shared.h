/* SPDX-License-Identifier: Apache-2.0
 *
 * An import that all nodes of a cluster make when its last piece has come (staged.h). On the thread
 * that applies the stream's changes.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_SHARED_H
#define NB_CORE_ARCHIVE_DUMP_SHARED_H

#include "core/base/error.h"

struct nb_engine;
struct nb_relayed_change;
struct nb_relayed_change_done;

/* Makes the import of NB_RELAYED_CHANGE_IMPORT. The transaction that makes the model visible
 * deletes the import's pieces; a refusal deletes them, too. Returns as nb_import_commit, or
 * NB_CONFLICT: the import was given up. After a code that passes (nb_error_is_passing) the pieces
 * remain, and the caller can try again. */
int nb_import_shared(struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                     struct nb_relayed_change_done *done, struct nb_error *error);

/* Ends an import or a copy that returned `rc`: gives it up if it was refused. Returns `rc`, or a
 * code that passes. */
int nb_import_shared_end(struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                         int rc);

#endif
