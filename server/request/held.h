/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory the bodies take that are being received, and its limit. Any thread.
 */
#ifndef NB_SERVER_REQUEST_HELD_H
#define NB_SERVER_REQUEST_HELD_H

#include <stddef.h>

#include "core/base/error.h"

struct nb_server;

/* A body now takes `now` bytes of memory; `*held`, its entry in the account, is set to that. Many
 * large bodies at once are refused, each being within its own limit: NB_NO_MEMORY, when it has
 * grown and the sum is above 8 times body_bytes. Returns 0 otherwise, and always when it shrinks
 * (`error` may be NULL then). */
int nb_held_set(struct nb_server *server, size_t *held, size_t now, struct nb_error *error);

#endif
