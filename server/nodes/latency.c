/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/latency.h"

#include <inttypes.h>

/* Upper bounds in milliseconds: a message of a local network takes some, one between sites tens, a
 * change of leaders thousands. */
static const double BOUNDS[NB_LATENCY_BUCKETS] = {0.5, 1,   2.5, 5,    10,   25,   50,
                                                  100, 250, 500, 1000, 2500, 5000, 15000};

void nb_latency_add(struct nb_latency *latency, uint64_t nanoseconds)
{
    unsigned b = 0;
    while (b < NB_LATENCY_BUCKETS && (double)nanoseconds > BOUNDS[b] * 1e6)
        b++;
    atomic_fetch_add(&latency->counts[b], 1);
    atomic_fetch_add(&latency->nanoseconds, nanoseconds);
}

int nb_latency_write(struct nb_latency *latency, const char *name, const char *help,
                     struct nb_buffer *out)
{
    uint64_t below = 0;
    int rc = nb_buffer_printf(out, "# HELP bayesd_%s %s\n# TYPE bayesd_%s histogram\n", name, help,
                              name);
    for (unsigned b = 0; rc == 0 && b < NB_LATENCY_BUCKETS; b++) {
        below += atomic_load(&latency->counts[b]);
        rc = nb_buffer_printf(out, "bayesd_%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
                              BOUNDS[b] / 1e3, below);
    }
    below += atomic_load(&latency->counts[NB_LATENCY_BUCKETS]);
    return rc != 0
               ? rc
               : nb_buffer_printf(out,
                                  "bayesd_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n"
                                  "bayesd_%s_sum %.6f\nbayesd_%s_count %" PRIu64 "\n",
                                  name, below, name,
                                  (double)atomic_load(&latency->nanoseconds) / 1e9, name, below);
}
