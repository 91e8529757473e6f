/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts a word list of bogofilter into a dump that the daemon imports. One thread.
 *
 * The dump has a document for each message of the list ("bogofilter:spam:1" ...); each feature is
 * in as many documents of a label as the list counts messages. The documents can be untrained like
 * any other.
 */
#ifndef NB_CLIENT_BOGOFILTER_DUMP_H
#define NB_CLIENT_BOGOFILTER_DUMP_H

#include <stdio.h>

#include "server/client/bogofilter/bogofilter_list.h"

/* Opens the dump as a file; each line is generated when it is read. A read error means that memory
 * ran out. `list` is borrowed until the caller closes the file with fclose. Returns NULL without
 * memory. */
FILE *nb_bogofilter_dump(const struct nb_bogofilter_list *list);

#endif
