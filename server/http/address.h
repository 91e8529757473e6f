/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of clients, IPv4 and IPv6 in one form, and the lists of clients in options: networks,
 * users of this machine, and origins of pages. Pure functions; a list is read once and read-only
 * afterwards. Any thread.
 */
#ifndef NB_SERVER_HTTP_ADDRESS_H
#define NB_SERVER_HTTP_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_address_range;

/* Takes the next item off a list of the configuration, whose items are separated by commas or
 * blanks. Returns false when there is none left. */
static inline bool nb_list_next(const char **list, struct nb_string *item)
{
    *list += strspn(*list, ", \t");
    *item = (struct nb_string){*list, strcspn(*list, ", \t")};
    *list += item->length;
    return item->length > 0;
}

/* Returns the number of items of a list. */
static inline size_t nb_list_count(const char *list)
{
    struct nb_string item;
    size_t count = 0;
    while (nb_list_next(&list, &item))
        count++;
    return count;
}

/* Whether a list has *, or the text in any case. */
static inline bool nb_list_has(const char *list, const char *text)
{
    struct nb_string item;
    while (nb_list_next(&list, &item))
        if (nb_string_equals(item, "*") || nb_string_equals_nocase(item, text))
            return true;
    return false;
}

enum nb_address_kind {
    NB_ADDRESS_UNKNOWN,
    NB_ADDRESS_IP,
    NB_ADDRESS_FILE /* a Unix socket, whose clients have no address */
};

struct nb_address {
    enum nb_address_kind kind;
    unsigned char bytes[16]; /* IPv4 as IPv6 has it, ::ffff:192.0.2.1; zeros for the other kinds */
};

enum { NB_ADDRESS_TEXT = INET6_ADDRSTRLEN }; /* bytes of a printed address with its NUL */

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

/* ---- networks -------------------------------------------------------------------------------- */

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

/* ---- users of this machine ------------------------------------------------------------------- */

struct nb_users {
    uid_t *all; /* owned */
    size_t count;
    bool has_everybody;
};

/* Reads "postfix, 1001", or "*" for everybody. `option` names the list in messages. Returns 0,
 * NB_NO_MEMORY, or NB_INVALID for a user who is unknown on this machine or is the overflow user
 * (nb_users_have); on failure nothing is owned. */
int nb_users_read(struct nb_users *users, const char *list, const char *option,
                  struct nb_error *error);
void nb_users_deinit(struct nb_users *users);

/* Whether the list has the user. The kernel's overflow user (65534, "nobody") matches only "*": in
 * a user name space (systemd's PrivateUsers=, containers) all users without a mapping appear as
 * this user. */
bool nb_users_have(const struct nb_users *users, uid_t user);

/* ---- origins --------------------------------------------------------------------------------- */

/* The origins of other sites whose pages may use the daemon ([http] origins). */

/* Checks that each item of a list is *, or an origin as browsers send it (RFC 6454, 6.2): http or
 * https, "://", a host in ASCII, and a port unless it is the scheme's default; no path, no slash at
 * the end. Returns 0, or NB_INVALID with the item, its fault and a correct form. */
int nb_origins_check(const char *list, struct nb_error *error);

/* Whether a checked list has an Origin (Fetch standard, 3.1). "null", which pages without an
 * address send, is in no list, and * does not match it. */
bool nb_origins_have(const char *list, const char *origin);

#endif
