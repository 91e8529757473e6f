/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/held.h"

#include <assert.h>

#include "server/request/server.h"

enum { BODIES_AT_ONCE = 8 }; /* bodies of the full size whose memory may be held at once */

void nb_held_limit(struct nb_server *server, size_t body_bytes)
{
    atomic_store(&server->held_most, body_bytes * BODIES_AT_ONCE);
}

int nb_held_set(struct nb_server *server, size_t *held, size_t now, struct nb_error *error)
{
    if (now == *held)
        return 0;
    /* Unsigned: a smaller `now` wraps round and subtracts. */
    size_t before = atomic_fetch_add(&server->held_bytes, now - *held);
    assert(before >= *held);
    size_t after = before + (now - *held);
    size_t most = atomic_load(&server->held_most);
    bool is_too_much = now > *held && after > most;
    *held = now;
    if (!is_too_much)
        return 0;
    return nb_error_set(error, NB_NO_MEMORY,
                        "the bodies being received fill the memory set aside for them; "
                        "try again later");
}
