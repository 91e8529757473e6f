/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/turn_away.h"

#include <stdint.h>
#include <string.h>

#include "server/base/metrics.h"
#include "server/http/refusal.h"
#include "server/net/linger.h"
#include "server/request/server.h"

void nb_turn_away(struct nb_server *server, struct nb_linger *linger, int file,
                  enum nb_connection_place place)
{
    unsigned status = place == NB_PLACE_ADDRESS ? 429 : 503;
    const char *detail = place == NB_PLACE_ADDRESS
                             ? "this address has as many connections as the option [server] "
                               "connections_per_address allows"
                         : place == NB_PLACE_MEMORY
                             ? "out of memory"
                             : "there are as many connections as the option [server] connections "
                               "allows";
    size_t length = nb_refusal_send(file, status, detail);
    nb_metrics_request(server->metrics, SIZE_MAX, status, 0, 0, length);
    nb_linger_add(linger, file);
}

enum nb_probe nb_probe_sniff(const char *bytes, size_t length)
{
    static const char *const PROBES[] = {"GET /healthz", "GET /readyz", "HEAD /healthz",
                                         "HEAD /readyz"};
    enum nb_probe found = NB_PROBE_NO;
    for (size_t i = 0; i < sizeof PROBES / sizeof *PROBES; i++) {
        size_t most = strlen(PROBES[i]);
        if (memcmp(bytes, PROBES[i], length < most ? length : most) != 0)
            continue;
        if (length <= most)
            found = NB_PROBE_MORE;
        else if (bytes[most] == ' ')
            return NB_PROBE_YES;
    }
    return found;
}
