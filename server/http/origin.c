/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/origin.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

bool nb_origin_is_foreign(const char *origin, const char *host)
{
    if (origin == NULL)
        return false;
    const char *authority = strstr(origin, "://");
    return authority == NULL || host == NULL || strcasecmp(authority + 3, host) != 0;
}

static bool is_localhost(const char *name)
{
    static const char LOCAL[] = ".localhost"; /* RFC 6761, 6.3 */
    size_t length = strlen(name), most = sizeof LOCAL - 1;
    return strcasecmp(name, LOCAL + 1) == 0 ||
           (length > most && strcasecmp(name + length - most, LOCAL) == 0);
}

/* Whether one of `names` is *, or the same name. */
static bool is_listed(const char *name, const char *names)
{
    size_t length = strlen(name);
    while (*names != '\0') {
        names += strspn(names, ", ");
        size_t one = strcspn(names, ", ");
        if ((one == 1 && *names == '*') ||
            (one == length && length > 0 && strncasecmp(names, name, length) == 0))
            return true;
        names += one;
    }
    return false;
}

/* Whether this is what may follow a host: nothing, or ":" and the digits of a port, of which there
 * may be none (RFC 3986, 3.2.3). */
static bool is_port(const char *rest)
{
    return *rest == '\0' || (*rest == ':' && rest[1 + strspn(rest + 1, "0123456789")] == '\0');
}

/* Whether a host without its port is an address in digits. */
static bool is_address(const char *name, bool is_literal)
{
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(is_literal ? AF_INET6 : AF_INET, name, address) == 1;
}

bool nb_origin_is_named(const char *host, const char *names)
{
    enum { NAME_BYTES = 256 }; /* RFC 1035, 2.3.4: a name has at most 255 bytes */
    char name[NAME_BYTES];
    if (host == NULL || is_listed("", names)) /* no name: only * lists it */
        return true;
    /* RFC 3986, 3.2.2: IP-literal = "[" address "]", else IPv4address or reg-name. */
    bool is_literal = host[0] == '[';
    const char *from = is_literal ? host + 1 : host;
    size_t length = strcspn(from, is_literal ? "]" : ":");
    const char *rest = from + length;
    if (length >= sizeof name || (is_literal && *rest++ != ']') || !is_port(rest))
        return false;
    memcpy(name, from, length);
    name[length] = '\0';
    return is_address(name, is_literal) ||
           (!is_literal && (is_localhost(name) || is_listed(name, names)));
}
