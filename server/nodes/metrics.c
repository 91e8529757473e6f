/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/metrics.h"

#include <stdlib.h>

#include "server/base/metrics.h"
#include "server/nodes/known.h"
#include "server/nodes/nodes.h"

struct gauge {
    const char *name, *help;
    double value;
};

static int write_all(const struct gauge *gauges, size_t count, struct nb_buffer *out)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = nb_metrics_gauge(out, gauges[i].name, gauges[i].help, gauges[i].value);
    return rc;
}

static int write_queue(const struct nb_nodes_state *state, struct nb_buffer *out)
{
    const struct gauge gauges[] = {
        {"nodes_queued", "Changes that wait in the queue for the database.", (double)state->queued},
        {"nodes_queued_bytes", "Their bytes.", (double)state->queued_bytes},
    };
    int rc = write_all(gauges, sizeof gauges / sizeof *gauges, out);
    return rc != 0 ? rc
                   : nb_buffer_printf(out,
                                      "# HELP bayesd_nodes_queue_refused_total Changes from the "
                                      "queue that were not made when they were published.\n"
                                      "# TYPE bayesd_nodes_queue_refused_total counter\n"
                                      "bayesd_nodes_queue_refused_total %llu\n",
                                      (unsigned long long)state->queue_refused);
}

/* ---- members --------------------------------------------------------------------------------- */

static double applied_of(const struct nb_known_member *m)
{
    return (double)m->applied;
}

static double silence_of(const struct nb_known_member *m)
{
    return (double)m->silence / 1e9;
}

static double sameness_of(const struct nb_known_member *m)
{
    return m->same;
}

/* What this node has heard of each member. */
static const struct member_gauge {
    const char *name, *help;
    double (*value)(const struct nb_known_member *member); /* below 0: not known, left out */
} member_gauges[] = {
    {"applied", "Place in the streams that the node has told last.", applied_of},
    {"silent_seconds", "Time since the node's last word.", silence_of},
    {"same", "Whether the node has learned the same as this one: their digests were compared.",
     sameness_of},
};

static int write_member_gauge(const struct member_gauge *gauge,
                              const struct nb_known_member *members, size_t count,
                              struct nb_buffer *out)
{
    int rc = nb_buffer_printf(out,
                              "# HELP bayesd_nodes_member_%s %s\n"
                              "# TYPE bayesd_nodes_member_%s gauge\n",
                              gauge->name, gauge->help, gauge->name);
    for (size_t k = 0; rc == 0 && k < count; k++) {
        double value = gauge->value(&members[k]);
        if (value >= 0)
            rc = nb_buffer_printf(out, "bayesd_nodes_member_%s{member=\"%s\"} %.17g\n", gauge->name,
                                  members[k].name, value);
    }
    return rc;
}

static int write_members(struct nb_nodes *nodes, struct nb_buffer *out)
{
    struct nb_known_member *members = NULL;
    size_t count;
    int rc = nb_nodes_members(nodes, &members, &count, NULL);
    for (size_t i = 0; rc == 0 && i < sizeof member_gauges / sizeof *member_gauges; i++)
        rc = write_member_gauge(&member_gauges[i], members, count, out);
    free(members);
    return rc;
}

/* ---- the node -------------------------------------------------------------------------------- */

int nb_nodes_metrics(struct nb_nodes *nodes, struct nb_buffer *out)
{
    struct nb_nodes_state state;
    nb_nodes_state(nodes, &state);
    const struct gauge gauges[] = {
        {"nodes_connected", "Whether this node follows the database that the nodes share.",
         state.connected ? 1 : 0},
        {"nodes_applied", "Place in the stream of the last change on this node's disk.",
         (double)state.applied},
        {"nodes_behind", "Changes that the stream has and this node does not.",
         (double)state.behind},
        {"nodes_lag_seconds", "Time since this node had all that the database has; 0 while it has.",
         (double)state.lag_nanoseconds / 1e9},
        {"nodes_caught_up", "Whether this node had all that the others have, once.",
         state.caught_up ? 1 : 0},
        {"nodes_put_back", "Changes that this node has put back since the database had lost them.",
         (double)state.put_back},
    };
    int rc = write_all(gauges, sizeof gauges / sizeof *gauges, out);
    if (rc == 0 && state.queues)
        rc = write_queue(&state, out);
    if (rc == 0)
        rc = write_members(nodes, out);
    return rc != 0 || state.publishing == NULL
               ? rc
               : nb_latency_write(state.publishing, "nodes_publish_seconds",
                                  "Time until the database had a change.", out);
}
