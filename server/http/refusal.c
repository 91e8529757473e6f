/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/refusal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "server/json/problem.h"

size_t nb_refusal_write(unsigned status, const char *detail, char to[NB_REFUSAL_BYTES])
{
    const char *title = nb_json_title((int)status);
    bool is_later = status == 429 || status == 503;
    char body[NB_REFUSAL_BYTES / 2];
    assert(strpbrk(detail, "\"\\\n") == NULL);
    int length =
        snprintf(body, sizeof body,
                 "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u,\"detail\":\"%s\"}",
                 title, status, detail);
    assert(length > 0 && (size_t)length < sizeof body);
    int all = snprintf(to, NB_REFUSAL_BYTES,
                       "HTTP/1.1 %u %s\r\nContent-Type: application/problem+json\r\n"
                       "Content-Length: %d\r\n%sConnection: close\r\n\r\n%s",
                       status, title, length, is_later ? "Retry-After: 1\r\n" : "", body);
    assert(all > 0 && all < NB_REFUSAL_BYTES);
    return (size_t)all;
}

size_t nb_refusal_send(int file, unsigned status, const char *detail)
{
    char reply[NB_REFUSAL_BYTES];
    size_t length = nb_refusal_write(status, detail, reply);
    (void)send(file, reply, length, MSG_DONTWAIT | MSG_NOSIGNAL); /* see the header */
    (void)shutdown(file, SHUT_WR);
    return length;
}
