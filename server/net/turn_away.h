/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client hears when there is no place for it, and which ones are let in all the same. Any
 * thread.
 */
#ifndef NB_SERVER_NET_TURN_AWAY_H
#define NB_SERVER_NET_TURN_AWAY_H

#include <stddef.h>

#include "server/net/connections.h"

struct nb_linger;

/* Answers with a problem, in HTTP, which a client of a line protocol takes for a failure, and gives
 * the file to `linger`. `place` is none. */
void nb_turn_away(struct nb_server *server, struct nb_linger *linger, int file,
                  enum nb_connection_place place);

enum nb_probe { NB_PROBE_NO, NB_PROBE_MORE, NB_PROBE_YES };

/* Whether the first bytes of a connection ask for /healthz or /readyz; NB_PROBE_MORE: they may. */
enum nb_probe nb_probe_sniff(const char *bytes, size_t length);

#endif
