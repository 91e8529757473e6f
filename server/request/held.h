/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that all bodies take together while they are received, and its limit. Any thread.
 */
#ifndef NB_SERVER_REQUEST_HELD_H
#define NB_SERVER_REQUEST_HELD_H

#include <stddef.h>

#include "core/base/error.h"

struct nb_server;

/* Sets the limit by [server] body_bytes: 8 times that much. */
void nb_held_limit(struct nb_server *server, size_t body_bytes);

/* Notes that a body now takes `now` bytes of memory, and sets *held, what was noted of it before,
 * to `now`. Many bodies may each be within their limit and too large together: NB_NO_MEMORY if this
 * one has grown and the sum of all is above 8 times body_bytes. Else returns 0; always if the body
 * has shrunk (`error` may be NULL then). */
int nb_held_set(struct nb_server *server, size_t *held, size_t now, struct nb_error *error);

#endif
