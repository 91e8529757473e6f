/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/held.h"

#include <assert.h>

#include "config/config.h"
#include "server/request/server.h"

enum { BODIES_AT_ONCE = 8 }; /* bodies of the full size whose memory may be held at once */

int nb_held_set(struct nb_server *server, size_t *held, size_t now, struct nb_error *error)
{
    if (now == *held)
        return 0;
    /* Unsigned: a smaller `now` wraps round and subtracts. */
    size_t before = atomic_fetch_add(&server->held_bytes, now - *held);
    assert(before >= *held);
    size_t after = before + (now - *held);
    size_t most = (size_t)server->config->body_bytes * BODIES_AT_ONCE;
    bool is_too_much = now > *held && after > most;
    *held = now;
    if (!is_too_much)
        return 0;
    return nb_error_set(error, NB_NO_MEMORY,
                        "the bodies being received fill the memory set aside for them; "
                        "try again later");
}
