/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of an import: the complete model gets its name. On the writer's thread.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_IMPORT_PLACE_H
#define NB_CORE_ARCHIVE_DUMP_IMPORT_PLACE_H

#include "core/archive/dump/entries.h"

/* Adds the complete model, whose rows are stored, or replaces the model of the same name with it.
 * Sets import->created and ->dropped. Returns as nb_import_commit. */
int nb_import_take_place(struct nb_engine *engine, struct nb_import *import,
                         struct nb_error *error);

#endif
