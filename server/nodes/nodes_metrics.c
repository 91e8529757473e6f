/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/nodes_metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "server/base/metrics.h"
#include "server/nodes/member.h"
#include "server/nodes/nodes.h"

/* ---- time until a change is published -------------------------------------------------------- */

static int write_latency(struct nb_latency *latency, struct nb_buffer *out)
{
#define NAME "bayesd_nodes_publish_seconds"
    uint64_t below = 0;
    int rc = nb_buffer_printf(out, "# HELP " NAME " Time until the database had a change.\n"
                                   "# TYPE " NAME " histogram\n");
    for (unsigned b = 0; rc == 0 && b < NB_LATENCY_BUCKETS; b++) {
        below += atomic_load(&latency->counts[b]);
        rc = nb_buffer_printf(out, NAME "_bucket{le=\"%g\"} %" PRIu64 "\n",
                              nb_latency_bounds[b] / 1e3, below);
    }
    below += atomic_load(&latency->counts[NB_LATENCY_BUCKETS]);
    return rc != 0
               ? rc
               : nb_buffer_printf(out,
                                  NAME "_bucket{le=\"+Inf\"} %" PRIu64 "\n" NAME "_sum %.6f\n" NAME
                                       "_count %" PRIu64 "\n",
                                  below, (double)atomic_load(&latency->nanoseconds) / 1e9, below);
#undef NAME
}

/* ---- members --------------------------------------------------------------------------------- */

static double applied_of(const struct nb_member *m)
{
    return (double)m->applied;
}

static double silence_of(const struct nb_member *m)
{
    return (double)m->silence / 1e9;
}

static double sameness_of(const struct nb_member *m)
{
    return m->same;
}

/* Writes what this node knows of each member. */
static int write_members(struct nb_nodes *nodes, struct nb_buffer *out)
{
    static const struct {
        const char *name, *help;
        double (*value)(const struct nb_member *member); /* below 0: not known, left out */
    } gauges[] = {
        {"applied", "Place in the streams that the node has told last.", applied_of},
        {"silent_seconds", "Time since the node's last word.", silence_of},
        {"same", "Whether the node has learned the same as this one: their digests were compared.",
         sameness_of},
    };
    struct nb_member *members = NULL;
    size_t count;
    int rc = nb_nodes_members(nodes, &members, &count, NULL);
    for (size_t i = 0; rc == 0 && i < sizeof gauges / sizeof *gauges; i++) {
        rc = nb_buffer_printf(out,
                              "# HELP bayesd_nodes_member_%s %s\n"
                              "# TYPE bayesd_nodes_member_%s gauge\n",
                              gauges[i].name, gauges[i].help, gauges[i].name);
        for (size_t k = 0; rc == 0 && k < count; k++)
            if (gauges[i].value(&members[k]) >= 0)
                rc =
                    nb_buffer_printf(out, "bayesd_nodes_member_%s{member=\"%s\"} %.17g\n",
                                     gauges[i].name, members[k].name, gauges[i].value(&members[k]));
    }
    free(members);
    return rc;
}

/* ---- the node -------------------------------------------------------------------------------- */

int nb_nodes_metrics(struct nb_nodes *nodes, struct nb_buffer *out)
{
    struct nb_nodes_state state;
    nb_nodes_state(nodes, &state);
    const struct {
        const char *name, *help;
        double value;
        bool is_left_out;
    } gauges[] = {
        {"nodes_connected", "Whether this node follows the database that the nodes share.",
         state.connected, false},
        {"nodes_applied", "Place in the stream of the last change on this node's disk.",
         (double)state.applied, false},
        {"nodes_behind", "Changes that the stream has and this node does not.",
         (double)state.behind, false},
        {"nodes_lag_seconds", "Time since this node had all that the database has; 0 while it has.",
         (double)state.lag_nanoseconds / 1e9, false},
        {"nodes_caught_up", "Whether this node had all that the others have, once.",
         state.caught_up, false},
        {"nodes_put_back", "Changes that this node has put back since the database had lost them.",
         (double)state.put_back, false},
        {"nodes_queued", "Changes that wait in the queue for the database.",
         (double)state.queue.entries, !state.queues},
        {"nodes_queued_bytes", "Their bytes.", (double)state.queue.bytes, !state.queues},
    };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof gauges / sizeof *gauges; i++)
        if (!gauges[i].is_left_out)
            rc = nb_metrics_gauge(out, gauges[i].name, gauges[i].help, gauges[i].value);
    if (rc == 0 && state.queues)
        rc = nb_buffer_printf(out,
                              "# HELP bayesd_nodes_queue_refused_total Changes from the queue that "
                              "were not made when they were published.\n"
                              "# TYPE bayesd_nodes_queue_refused_total counter\n"
                              "bayesd_nodes_queue_refused_total %llu\n",
                              (unsigned long long)state.queue.refused);
    if (rc == 0)
        rc = write_members(nodes, out);
    return rc == 0 ? write_latency(&nodes->publishing, out) : rc;
}
