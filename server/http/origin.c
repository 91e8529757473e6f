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

static bool is_address(const char *name)
{
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

static bool is_localhost(const char *name)
{
    static const char LOCAL[] = ".localhost"; /* RFC 6761, 6.3 */
    size_t length = strlen(name), most = sizeof LOCAL - 1;
    return strcasecmp(name, LOCAL + 1) == 0 ||
           (length > most && strcasecmp(name + length - most, LOCAL) == 0);
}

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

bool nb_origin_is_named(const char *host, const char *names)
{
    enum { NAME_BYTES = 256 }; /* RFC 1035, 2.3.4: a name has at most 255 bytes */
    char name[NAME_BYTES];
    if (host == NULL)
        return true;
    bool is_v6 = host[0] == '[';
    const char *from = is_v6 ? host + 1 : host;
    size_t length = strcspn(from, is_v6 ? "]" : ":");
    if (length >= sizeof name)
        return false;
    memcpy(name, from, length);
    name[length] = '\0';
    return is_address(name) || is_localhost(name) || is_listed(name, names);
}
