/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of clients, IPv4 and IPv6 in one form, and lists of networks for options. Pure
 * functions; a list is read once and read-only afterwards. Any thread.
 */
#ifndef NB_SERVER_ACCESS_ADDRESS_H
#define NB_SERVER_ACCESS_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "core/base/error.h"
#include "core/base/string.h"

enum nb_address_kind {
    NB_ADDRESS_UNKNOWN,
    NB_ADDRESS_IP,
    NB_ADDRESS_FILE /* a Unix socket, whose clients have no address */
};

struct nb_address {
    enum nb_address_kind kind;
    unsigned char bytes[16]; /* IPv4 as IPv6 has it, ::ffff:192.0.2.1; zeros for the other kinds */
};

enum { NB_ADDRESS_TEXT = INET6_ADDRSTRLEN }; /* of one that is printed, with its NUL */

/* Returns the address of a socket's peer; NULL gives the kind NB_ADDRESS_UNKNOWN. */
struct nb_address nb_address_of(const struct sockaddr *peer);

/* Reads "192.0.2.1" or "2001:db8::1". Returns the length of the address in bits, 32 or 128, or 0 if
 * the text is no address; then *address is unchanged. */
unsigned nb_address_read(struct nb_string text, struct nb_address *address);

/* Writes an address in digits, IPv4 in its own form; "socket" for a Unix socket, "-" for
 * unknown. */
void nb_address_print(const struct nb_address *address, char text[NB_ADDRESS_TEXT]);

/* Whether an address is an IPv4 address. */
bool nb_address_is_v4(const struct nb_address *address);

/* Whether an address is local to this machine: 127.0.0.0/8 (RFC 1122, 3.2.1.3), ::1 or a Unix
 * socket. */
bool nb_address_is_local(const struct nb_address *address);

/* ---- networks -----------------------------------------------------------------------------------
 */

struct nb_address_range;

struct nb_networks {
    struct nb_address_range *all; /* owned */
    size_t count;
};

/* Reads "127.0.0.1, 192.0.2.0/24, 2001:db8::/32". `option` names the list in messages: "[tokens]
 * trusted". Returns 0, NB_NO_MEMORY or NB_INVALID; on failure nothing is owned. */
int nb_networks_read(struct nb_networks *networks, const char *list, const char *option,
                     struct nb_error *error);
void nb_networks_deinit(struct nb_networks *networks);

/* Whether the address lies in one of the networks; an address that is no IP address lies in
 * none. */
bool nb_networks_have(const struct nb_networks *networks, const struct nb_address *address);

#endif
