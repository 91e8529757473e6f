/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/peer.h"

#include <string.h>

#include "server/access/networks.h"

void nb_forwarding_add(struct nb_forwarding *forwarding, struct nb_string field)
{
    struct nb_string *chain = forwarding->chain;
    forwarding->is_there = true;
    if (forwarding->count == NB_FORWARDED_MOST) {
        memmove(chain, chain + 1, (NB_FORWARDED_MOST - 1) * sizeof *chain);
        forwarding->count--;
    }
    chain[forwarding->count++] = field;
}

/* Takes the rightmost entry off a list "a, b, c". */
static struct nb_string take_last(struct nb_string *list)
{
    const char *comma = memrchr(list->bytes, ',', list->length);
    size_t before = comma != NULL ? (size_t)(comma - list->bytes) : 0;
    struct nb_string entry = nb_string_from(*list, comma != NULL ? before + 1 : 0);
    list->length = before;
    return nb_string_trim(entry);
}

/* Reads "192.0.2.1", "2001:db8::1", and what some proxies write: "192.0.2.1:1234" and
 * "[2001:db8::1]:1234". */
static bool read_entry(struct nb_string entry, struct nb_address *address)
{
    if (nb_address_read(entry, address) != 0)
        return true;
    bool is_literal = entry.length > 0 && entry.bytes[0] == '[';
    struct nb_string text = nb_string_from(entry, is_literal);
    const char *end =
        text.length > 0 ? memchr(text.bytes, is_literal ? ']' : ':', text.length) : NULL;
    if (end == NULL)
        return false;
    struct nb_address found;
    text.length = (size_t)(end - text.bytes);
    if (nb_address_read(text, &found) != (is_literal ? 128 : 32))
        return false;
    *address = found;
    return true;
}

/* Follows the chain from the right, from proxy to proxy, up to the client. */
static void follow(struct nb_peer *peer, const struct nb_forwarding *forwarding,
                   const struct nb_networks *proxies)
{
    for (size_t i = forwarding->count; i-- > 0;) {
        struct nb_string list = forwarding->chain[i];
        do {
            if (!read_entry(take_last(&list), &peer->address))
                return; /* "unknown" and the like: nobody knows who it was */
            peer->is_proven = !nb_networks_have(proxies, &peer->address);
            if (peer->is_proven)
                return;
        } while (list.length > 0);
    }
    /* Only proxies: the first of them asks for itself, if all was seen. */
    peer->is_proven = forwarding->count < NB_FORWARDED_MOST;
}

static void find_user(struct nb_peer *peer, int socket)
{
    struct ucred process;
    socklen_t size = sizeof process;
    peer->has_user = peer->address.kind == NB_ADDRESS_FILE &&
                     getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &process, &size) == 0;
    if (peer->has_user)
        peer->user = process.uid;
}

struct nb_peer nb_peer_of(int socket, const struct sockaddr *address,
                          const struct nb_forwarding *forwarding, const struct nb_networks *proxies)
{
    struct nb_peer peer = {.address = nb_address_of(address),
                           .is_forwarded = forwarding->is_there,
                           .is_proven = !forwarding->is_there};
    find_user(&peer, socket);
    if (forwarding->count > 0 && nb_networks_have(proxies, &peer.address))
        follow(&peer, forwarding, proxies);
    return peer;
}
