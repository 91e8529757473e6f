/* SPDX-License-Identifier: Apache-2.0 */
#ifdef NB_HAS_NATS

#include "server/nodes/waiting.h"

#include "config/config.h"
#include "server/base/log.h"
#include "server/nodes/nodes_state.h"

int nb_nodes_queue_open(struct nb_nodes *n, struct nb_error *error)
{
    const struct nb_outbox_limits limits = {n->config->cluster_queue_bytes,
                                            n->config->cluster_queue_entries};
    static const struct nb_outbox_limits NO_MORE = {0, 0};
    struct nb_queue_state state;
    bool takes = n->config->cluster_queue;
    if (!takes && !nb_outbox_is_left(n->config->data))
        return 0;
    int rc = nb_queue_new(n->engine, n->config->data, takes ? &limits : &NO_MORE, &n->queue, error);
    if (rc != 0)
        return rc;
    nb_queue_state(n->queue, &state);
    if (state.entries > 0)
        nb_log(takes ? NB_LOG_INFO : NB_LOG_WARNING, "cluster: %llu changes wait in the outbox%s",
               (unsigned long long)state.entries,
               takes ? "" : ", which [cluster] queue has closed: they are made before others are");
    return 0;
}

/* Once, until it can be read again. */
static void log_unreadable(struct nb_nodes *n, const struct nb_queue_state *state)
{
    bool is_unreadable = state->unreadable[0] != '\0';
    pthread_mutex_lock(&n->lock);
    bool is_news = is_unreadable && !n->is_queue_unreadable;
    n->is_queue_unreadable = is_unreadable;
    pthread_mutex_unlock(&n->lock);
    if (is_news)
        nb_log(NB_LOG_ERROR, "cluster: %llu changes wait in the outbox, and none is made: %s",
               (unsigned long long)state->entries, state->unreadable);
}

void nb_nodes_queue_set(struct nb_lane *l, enum nb_queue_stream stream)
{
    struct nb_nodes *n = l->nodes;
    struct nb_queue_state state;
    if (n->queue == NULL)
        return;
    nb_queue_set(n->queue, l->which, stream);
    nb_queue_state(n->queue, &state);
    pthread_mutex_lock(&n->lock);
    uint64_t before = n->refused;
    n->refused = state.refused > before ? state.refused : before;
    pthread_mutex_unlock(&n->lock);
    if (state.refused > before)
        nb_log(NB_LOG_WARNING, "cluster: %llu changes from the outbox were not made, the last: %s",
               (unsigned long long)(state.refused - before), state.reason);
    log_unreadable(n, &state);
}

#endif
