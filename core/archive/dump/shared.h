/* SPDX-License-Identifier: Apache-2.0
 *
 * An import that all nodes of a cluster make, when its last piece has come (staged.h). On the
 * thread that applies what comes from the stream.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_SHARED_H
#define NB_CORE_ARCHIVE_DUMP_SHARED_H

#include "core/base/error.h"

struct nb_engine;
struct nb_relayed_change;
struct nb_relayed_change_done;

/* Makes the import of NB_ERRAND_IMPORT. Its pieces go with the transaction that makes the model
 * visible, and also when it is refused. Returns as nb_import_commit, or NB_CONFLICT: it was given
 * up. A code that passes (nb_error_is_passing) has left the pieces: it can be tried again. */
int nb_import_shared(struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                     struct nb_relayed_change_done *done, struct nb_error *error);

/* The end of an import or a copy that returned `rc`, with `error`: what was refused is given up.
 * Returns `rc`, or a code that passes. */
int nb_import_shared_end(struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                         int rc);

#endif
