/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc nodes status and bayesc nodes check: how each of several nodes stands, and whether all
 * have learned the same. Of one node that is asked, all members that it knows are asked.
 */
#ifndef NB_CLIENT_NODES_STANDING_H
#define NB_CLIENT_NODES_STANDING_H

#include <stddef.h>

#include "core/base/error.h"
#include "server/client/base/client.h"

enum { NB_NODES_MOST = 64 };

/* Runs the one that arguments[0] names on the URLs that follow it; on one URL, or the daemon of
 * --url, also on the members that it knows.
 * Returns 0, or a code: NB_CLIENT_USAGE; of a node that did not answer; and of `check` NB_CORRUPT:
 * they differ, or NB_CALL_BUSY: they are never at one number. */
int nb_nodes_tell(const struct nb_client *client, char **arguments, size_t count,
                  struct nb_error *error);

#endif
