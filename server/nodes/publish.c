/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/publish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/model/live/trace.h"
#include "core/nodes/operation.h"
#include "core/nodes/replica.h"
#include "server/base/log.h"
#include "server/nodes/look.h"
#include "server/nodes/nodes_state.h"

enum {
    GROUP_MOST = 256,      /* entries of a transaction, */
    GROUP_BYTES = 4 << 20, /* and their bytes, but for the last */
    WAITING_MOST = 65536,  /* that wait */
    WAITING_BYTES = 256 << 20,
    TRIES_MOST = 20, /* when other nodes write the same at the same time */
    REST_NANOSECONDS = 100000000,
};

struct nb_published_row {
    struct nb_published_row *next;
    char id[NB_MESSAGE_ID_MOST];
    struct nb_buffer message;
    uint64_t since, until; /* nb_clock_monotonic */
    bool lasts;            /* it waits as long as it takes */
    bool is_doubted;       /* it may be in the stream */
    bool is_over;          /* it was delivered */
};

/* ---- what waits ------------------------------------------------------------------------------ */

/* While nodes of an older program are there, kinds of changes that they do not know wait: they
 * would have to stop following. With the lock held. */
static int check(struct nb_lane *l, struct nb_string message, struct nb_error *error)
{
    if (l->is_refused)
        return nb_error_set(error, NB_STOPPING,
                            "this node does not follow the others any more: see /readyz, and ask "
                            "another node");
    if (!atomic_load(&l->is_following))
        return nb_error_set(error, NB_STOPPING,
                            "the database is away: nothing is learned until it is back; send the "
                            "change again later");
    if ((uint32_t)nb_operation_kind_of(message) >= l->kinds)
        return nb_error_set(error, NB_STOPPING,
                            "the node '%s' has an older bayesd, which cannot make this change: "
                            "install the same on all nodes, then send it again",
                            l->oldest);
    return l->entries < WAITING_MOST && l->bytes < WAITING_BYTES
               ? 0
               : nb_error_set(error, NB_BUSY,
                              "too many changes wait for the database: send it again later");
}

int nb_publish(void *user, const char *id, struct nb_string message, bool lasts,
               struct nb_error *error)
{
    struct nb_lane *l = user;
    struct nb_published_row *e = calloc(1, sizeof *e);
    if (e == NULL || nb_buffer_append(&e->message, message.bytes, message.length) != 0) {
        free(e);
        return nb_error_no_memory(error);
    }
    (void)snprintf(e->id, sizeof e->id, "%s", id);
    e->since = nb_clock_monotonic();
    e->until = e->since + l->nodes->config->nodes_patience * UINT64_C(1000000000);
    e->lasts = lasts;
    pthread_mutex_lock(&l->lock);
    int rc = check(l, message, error);
    if (rc == 0) {
        *l->end = e;
        l->end = &e->next;
        l->entries++;
        l->bytes += message.length;
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
    if (rc == 0)
        return 0;
    nb_buffer_deinit(&e->message);
    free(e);
    return rc;
}

void nb_publish_delivered(struct nb_lane *l, struct nb_string id)
{
    pthread_mutex_lock(&l->lock);
    for (struct nb_published_row *e = l->first; l->doubts > 0 && e != NULL; e = e->next)
        if (e->is_doubted && nb_string_equals(id, e->id))
            e->is_over = true;
    pthread_mutex_unlock(&l->lock);
}

static void entry_free(struct nb_published_row *e)
{
    nb_buffer_deinit(&e->message);
    free(e);
}

/* Takes the first one away. With the lock held. */
static void remove_first(struct nb_lane *l)
{
    struct nb_published_row *e = l->first;
    l->first = e->next;
    if (l->first == NULL)
        l->end = &l->first;
    l->entries--;
    l->bytes -= e->message.length;
    l->doubts -= e->is_doubted ? 1 : 0;
    entry_free(e);
}

void nb_publish_deinit(struct nb_lane *l)
{
    while (l->first != NULL)
        remove_first(l);
}

/* ---- the writer ------------------------------------------------------------------------------ */

/* Those that go with the next transaction; they stay the list's. */
struct group {
    const struct nb_published_row *entries[GROUP_MOST];
    size_t count;
};

static bool may_send(struct nb_lane *l, uint64_t now)
{
    return l->first != NULL && atomic_load(&l->is_following) &&
           now >= atomic_load(&l->publishes_after);
}

static void wait_a_little(struct nb_lane *l)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* it cannot fail */
    until.tv_nsec += REST_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_clockwait(&l->changed, &l->lock, CLOCK_MONOTONIC, &until);
}

/* What is over goes; whose client has given up, too: it sends it again, if at all. */
static void drop_old(struct nb_lane *l, uint64_t now)
{
    while (l->first != NULL && (l->first->is_over || (!l->first->lasts && l->first->until < now)))
        remove_first(l);
}

/* Waits for entries that may be sent, some milliseconds at most. */
static void take(struct nb_lane *l, struct group *g)
{
    size_t bytes = 0;
    g->count = 0;
    pthread_mutex_lock(&l->lock);
    drop_old(l, nb_clock_monotonic());
    if (!may_send(l, nb_clock_monotonic()))
        wait_a_little(l);
    if (!may_send(l, nb_clock_monotonic())) {
        pthread_mutex_unlock(&l->lock);
        return;
    }
    for (struct nb_published_row *e = l->first;
         e != NULL && g->count < GROUP_MOST && bytes < GROUP_BYTES; e = e->next) {
        g->entries[g->count++] = e;
        bytes += e->message.length;
        l->doubts += e->is_doubted ? 0 : 1;
        e->is_doubted = true;
    }
    pthread_mutex_unlock(&l->lock);
}

/* All of it is in the stream. */
static void finish(struct nb_lane *l, const struct group *g)
{
    uint64_t now = nb_clock_monotonic();
    for (size_t i = 0; i < g->count; i++)
        nb_latency_add(&l->nodes->publishing, now - g->entries[i]->since);
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < g->count; i++)
        remove_first(l);
    pthread_mutex_unlock(&l->lock);
}

/* One statement, and so one transaction, whose lock no message of this node has to end. An id that
 * is there is not added again; two nodes that add it at the same moment are told so by the index,
 * and try again. Nothing is added where the stream does not have what this node was given last
 * ($3): it has lost its end, and the reader looks at that. */
static const char ADD[] =
    "WITH given AS (SELECT * FROM unnest($5::text[], $6::bigint[], $7::bytea[])"
    "  WITH ORDINALITY AS g(id, checksum, body, place)),"
    " fresh AS (SELECT id, checksum, body, row_number() OVER (ORDER BY place) AS k FROM given"
    "  WHERE NOT EXISTS (SELECT 1 FROM bayesd.change c WHERE c.stream = $1 AND c.id = given.id)),"
    " moved AS (UPDATE bayesd.stream SET last = last + (SELECT count(*) FROM fresh)"
    "  WHERE number = $1 AND made = $2 AND last >= $3 AND ($3 = 0 OR EXISTS (SELECT 1"
    "  FROM bayesd.change WHERE stream = $1 AND position = $3 AND checksum = $4))"
    "  RETURNING last),"
    " added AS (INSERT INTO bayesd.change (stream, position, id, checksum, body)"
    "  SELECT $1, last - (SELECT count(*) FROM fresh) + k, id, checksum, body FROM fresh, moved)"
    "SELECT c.id, c.position FROM moved LEFT JOIN (given JOIN bayesd.change c ON c.stream = $1"
    " AND c.id = given.id) ON true";

static void find(struct nb_lane *l, const struct nb_sql_rows *rows, uint64_t delivered)
{
    pthread_rwlock_rdlock(&l->using);
    for (int i = 0; i < rows->count && l->replica != NULL; i++) {
        uint64_t position = nb_sql_rows_number(rows, i, 1);
        if (position > 0 && position <= delivered)
            nb_replica_find(l->replica, nb_sql_rows_bytes(rows, i, 0));
    }
    pthread_rwlock_unlock(&l->using);
}

static int add(struct nb_lane *l, struct nb_database *d, const struct group *g,
               struct nb_error *error)
{
    struct nb_sql sql = {.text = ADD};
    struct nb_sql_rows rows;
    struct nb_point at = {0, 0};
    pthread_rwlock_rdlock(&l->using);
    if (l->replica != NULL)
        at = nb_replica_delivered(l->replica);
    pthread_rwlock_unlock(&l->using);
    nb_sql_number(&sql, l->which);
    nb_sql_number(&sql, atomic_load(&l->made));
    nb_sql_number(&sql, at.position);
    nb_sql_number(&sql, at.sum);
    nb_sql_array(&sql, NB_SQL_TEXT, g->count);
    for (size_t i = 0; i < g->count; i++)
        nb_sql_element(&sql, nb_string_of(g->entries[i]->id));
    nb_sql_array(&sql, NB_SQL_NUMBER, g->count);
    for (size_t i = 0; i < g->count; i++)
        nb_sql_element_number(&sql, nb_trace_checksum(nb_string_of(g->entries[i]->id),
                                                      nb_buffer_string(&g->entries[i]->message)));
    nb_sql_array(&sql, NB_SQL_BYTES, g->count);
    for (size_t i = 0; i < g->count; i++)
        nb_sql_element(&sql, nb_buffer_string(&g->entries[i]->message));
    int rc = nb_database_run(d, &sql, &l->nodes->stops, &rows, error);
    nb_sql_deinit(&sql);
    if (rc != 0)
        return rc;
    bool is_added = rows.count > 0;
    if (is_added)
        find(l, &rows, at.position);
    nb_sql_rows_deinit(&rows);
    return is_added ? 0
                    : nb_error_set(error, NB_CONFLICT,
                                   "the stream does not have what this node was given last");
}

/* Readers look by themselves, too: what this comes to is not important. */
static int notify(struct nb_lane *l, struct nb_database *d)
{
    struct nb_sql sql = {.text = "SELECT pg_notify($1, '')"};
    char channel[32];
    (void)snprintf(channel, sizeof channel, "bayesd_%u", l->which);
    nb_sql_text(&sql, nb_string_of(channel));
    int rc = nb_database_run(d, &sql, &l->nodes->stops, NULL, NULL);
    nb_sql_deinit(&sql);
    return rc;
}

/* Returns 0, or a code after which the connection is closed. */
static int send_group(struct nb_lane *l, struct nb_database *d, const struct group *g,
                      struct nb_error *error)
{
    int rc = NB_EXISTS;
    for (int i = 0; i < TRIES_MOST && rc == NB_EXISTS; i++)
        rc = add(l, d, g, error);
    if (rc != 0) {
        nb_look_wake(l);
        return rc;
    }
    finish(l, g);
    nb_look_wake(l);
    return notify(l, d) == NB_STOPPING ? NB_STOPPING : 0;
}

void *nb_publish_main(void *argument)
{
    struct nb_lane *l = argument;
    struct nb_database *d = NULL;
    const struct timespec rest = {.tv_nsec = REST_NANOSECONDS};
    struct group g;
    while (!atomic_load(&l->nodes->stops)) {
        struct nb_error why = {0};
        take(l, &g);
        if (g.count == 0)
            continue;
        int rc = d == NULL ? nb_database_open(l->conninfo, &d, &why) : 0;
        if (rc == 0)
            rc = send_group(l, d, &g, &why);
        if (rc == 0)
            continue;
        nb_log(NB_LOG_DEBUG, "nodes: stream %u: %s", l->which, why.text);
        nb_database_close(&d);
        (void)nanosleep(&rest, NULL); /* it may wake early */
    }
    nb_database_close(&d);
    return NULL;
}
