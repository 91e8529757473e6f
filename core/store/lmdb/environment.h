/* SPDX-License-Identifier: Apache-2.0
 *
 * The LMDB environment and the size of its map. One thread at a time.
 *
 * The map is the address space that LMDB reads the file through. It costs nothing until it is read,
 * but it can only be made larger while nobody reads. So all the space that may ever be needed is
 * reserved at once, and growing is the exception.
 */
#ifndef NB_CORE_STORE_LMDB_ENVIRONMENT_H
#define NB_CORE_STORE_LMDB_ENVIRONMENT_H

#include <lmdb.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/store/lmdb/file.h"

/* Sizes of the map are multiples of this. */
#define NB_MAP_UNIT ((uint64_t)1 << 20)

/* Fills `error` for a code of LMDB's (0 is none): its own negative ones, and errno values.
 * MDB_MAP_FULL becomes NB_STORE_MAP_FULL. Returns the code. */
int nb_environment_error(struct nb_error *error, int rc, const char *what);

/* Opens the environment of the open `file`. `map_size` in bytes; 0: up to 1 TiB, as much as the
 * process may have. `needed`: its minimum. `flags`: 0 or MDB_RDONLY. NB_IO, NB_CORRUPT and others;
 * on failure *environment is NULL. */
int nb_environment_open(const struct nb_store_file *file, uint64_t map_size, uint64_t needed,
                        unsigned flags, MDB_env **environment, struct nb_error *error);
void nb_environment_close(MDB_env **environment);

/* Whether the process may have `more` bytes of address space. */
int nb_environment_may_grow(uint64_t more, struct nb_error *error);

#endif
