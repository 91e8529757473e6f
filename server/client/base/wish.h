/* SPDX-License-Identifier: Apache-2.0
 *
 * What undo and quarantine ask the daemon for: a JSON object that chooses documents. Main thread.
 */
#ifndef NB_CLIENT_WISH_H
#define NB_CLIENT_WISH_H

#include "server/client/base/client.h"
#include "server/client/base/flags.h"

/* Adds the member `ids` to a wish, unless the list is empty. Returns whether it could: it cannot if
 * an id is no UTF-8, and out of memory. */
bool nb_wish_ids(json_t *wish, const struct nb_flag_list *ids);

/* POSTs a wish (NULL: it could not be made) to a path. On success the caller owns *reply. Returns
 * 0, NB_CLIENT_USAGE for a wish that is no UTF-8, or a code of nb_call_json. */
int nb_wish_post(struct nb_call *call, const char *path, const json_t *wish, json_t **reply,
                 struct nb_error *error);

#endif
