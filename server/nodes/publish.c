/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes this node's messages into a stream. The worker takes the waiting messages, and one
 * transaction adds them. It locks the row with the next position, so that positions are in the
 * order of commits, and a reader never sees a position before those below it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/model/live/messages.h"
#include "core/nodes/operation.h"
#include "core/nodes/replica.h"
#include "server/nodes/stream_worker.h"

enum { WAITING_MOST = 65536, WAITING_BYTES = 256 << 20 };

struct nb_published_row {
    struct nb_published_row *next;
    char id[NB_MESSAGE_ID_MOST];
    struct nb_buffer message;
    uint64_t until; /* nb_clock_monotonic; UINT64_MAX: without a limit */
};

/* ---- calls from other threads ---------------------------------------------------------------- */

void nb_publish_wake(struct nb_stream_worker *l)
{
    const uint64_t one = 1;
    if (write(l->wake, &one, sizeof one) < 0)
        return; /* it is awake already */
}

int nb_publish_look(void *user, uint64_t *last, struct nb_error *error)
{
    struct nb_stream_worker *l = user;
    struct timespec until;
    int rc = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* it cannot fail */
    until.tv_sec += (time_t)l->nodes->config->nodes_patience;
    pthread_mutex_lock(&l->lock);
    uint64_t ticket = ++l->asked;
    nb_publish_wake(l);
    while (l->answered < ticket && rc == 0 && atomic_load(&l->is_following))
        rc = pthread_cond_clockwait(&l->changed, &l->lock, CLOCK_MONOTONIC, &until);
    bool is_answered = l->answered >= ticket;
    pthread_mutex_unlock(&l->lock);
    *last = atomic_load(&l->last);
    return is_answered ? 0
                       : nb_error_set(error, NB_STOPPING,
                                      "the database is away, which has the changes of the other "
                                      "nodes: send this one again later");
}

bool nb_publish_is_there(void *user, uint64_t *last)
{
    struct nb_stream_worker *l = user;
    *last = atomic_load(&l->last);
    return atomic_load(&l->is_following);
}

/* With the lock held. */
static int check(struct nb_stream_worker *l, struct nb_error *error)
{
    if (l->is_refused)
        return nb_error_set(error, NB_STOPPING,
                            "this node does not follow the others any more: see /readyz, and ask "
                            "another node");
    if (!atomic_load(&l->is_following))
        return nb_error_set(error, NB_STOPPING,
                            "the database is away: nothing is learned until it is back; send the "
                            "change again later");
    return l->entries < WAITING_MOST && l->bytes < WAITING_BYTES
               ? 0
               : nb_error_set(error, NB_BUSY,
                              "too many changes wait for the database: send it again later");
}

static void row_free(struct nb_published_row *e)
{
    nb_buffer_deinit(&e->message);
    free(e);
}

int nb_publish(void *user, const char *id, struct nb_string message, bool lasts,
               struct nb_error *error)
{
    struct nb_stream_worker *l = user;
    uint64_t patience = l->nodes->config->nodes_patience * UINT64_C(1000000000);
    struct nb_published_row *e = calloc(1, sizeof *e);
    if (e == NULL || nb_buffer_append(&e->message, message.bytes, message.length) != 0) {
        free(e);
        return nb_error_no_memory(error);
    }
    (void)snprintf(e->id, sizeof e->id, "%s", id);
    e->until = lasts ? UINT64_MAX : nb_clock_monotonic() + patience;
    pthread_mutex_lock(&l->lock);
    int rc = check(l, error);
    if (rc == 0) {
        *l->end = e;
        l->end = &e->next;
        l->entries++;
        l->bytes += message.length;
    }
    pthread_mutex_unlock(&l->lock);
    if (rc == 0)
        nb_publish_wake(l);
    else
        row_free(e);
    return rc;
}

/* Removes the first waiting message. With the lock held. */
static void remove_first(struct nb_stream_worker *l)
{
    struct nb_published_row *e = l->first;
    l->first = e->next;
    if (l->first == NULL)
        l->end = &l->first;
    l->entries--;
    l->bytes -= e->message.length;
    l->doubts -= l->doubts > 0;
    row_free(e);
}

/* Messages are added in their order: those before it are in the stream, too. */
void nb_publish_delivered(struct nb_stream_worker *l, struct nb_string id)
{
    size_t found = 0;
    pthread_mutex_lock(&l->lock);
    const struct nb_published_row *e = l->first;
    for (size_t i = 1; i <= l->doubts; i++, e = e->next)
        if (nb_string_equals(id, e->id))
            found = i;
    for (; found > 0; found--)
        remove_first(l);
    pthread_mutex_unlock(&l->lock);
}

void nb_publish_deinit(struct nb_stream_worker *l)
{
    while (l->first != NULL)
        remove_first(l);
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* One statement, and so one transaction: its lock ends without a further message of this node. If
 * two nodes add an id at the same moment, the index reports it. */
static const char ADD[] =
    "WITH given AS (SELECT * FROM unnest($6::text[], $7::bigint[], $8::bytea[])"
    "  WITH ORDINALITY AS g(id, checksum, body, place)),"
    " fresh AS (SELECT id, checksum, body, row_number() OVER (ORDER BY place) AS k FROM given"
    "  WHERE NOT EXISTS (SELECT 1 FROM bayesd.change c WHERE c.stream = $1 AND c.id = given.id)),"
    " moved AS (UPDATE bayesd.stream SET last = last + (SELECT count(*) FROM fresh)"
    "  WHERE number = $1 AND made = $2 AND last >= $3 AND ($3 = 0 OR EXISTS (SELECT 1"
    "  FROM bayesd.change WHERE stream = $1 AND position = $3 AND checksum = $4))"
    "  AND ($5 = 0 OR (last = $3 AND"
    "   (SELECT count(*) FROM fresh) = (SELECT count(*) FROM given)))"
    "  RETURNING last),"
    " added AS (INSERT INTO bayesd.change (stream, position, id, checksum, body)"
    "  SELECT $1, last - (SELECT count(*) FROM fresh) + k, id, checksum, body FROM fresh, moved)"
    "SELECT c.id, c.position FROM moved LEFT JOIN (given JOIN bayesd.change c ON c.stream = $1"
    " AND c.id = given.id) ON true";

void nb_publish_add_begin(const struct nb_stream_worker *l, struct nb_point after, bool is_exact,
                          struct nb_sql *sql)
{
    *sql = (struct nb_sql){.text = ADD};
    nb_sql_number(sql, l->which);
    nb_sql_number(sql, l->made);
    nb_sql_number(sql, after.position);
    nb_sql_number(sql, after.sum);
    nb_sql_number(sql, is_exact ? 1 : 0);
    nb_sql_array(sql, NB_SQL_TEXT);
    nb_sql_array(sql, NB_SQL_NUMBER);
    nb_sql_array(sql, NB_SQL_BYTES);
}

void nb_publish_add(struct nb_sql *sql, struct nb_string id, uint64_t checksum,
                    struct nb_string message)
{
    nb_sql_add(sql, 6, id);
    nb_sql_add_number(sql, 7, checksum);
    nb_sql_add(sql, 8, message);
}

/* ---- publishing ------------------------------------------------------------------------------ */

/* Adds the first messages, which stay in the list, to the statement. Removes those whose client has
 * given up: the client sends them again, if at all. */
static size_t take(struct nb_stream_worker *l, struct nb_sql *sql)
{
    size_t bytes = 0, count = 0;
    uint64_t now = nb_clock_monotonic();
    pthread_mutex_lock(&l->lock);
    while (l->first != NULL && l->first->until < now)
        remove_first(l);
    for (struct nb_published_row *e = l->first;
         e != NULL && count < NB_GROUP_ENTRIES && bytes < NB_GROUP_BYTES; e = e->next) {
        struct nb_string id = nb_string_of(e->id), message = nb_buffer_string(&e->message);
        nb_publish_add(sql, id, nb_message_checksum(id, message), message);
        count++;
        bytes += e->message.length;
    }
    l->doubts = count;
    pthread_mutex_unlock(&l->lock);
    return count;
}

/* Removes the messages of the statement, which are in the stream. Some were there before, and were
 * delivered. */
static void finish(struct nb_stream_worker *l, size_t count, const struct nb_sql_rows *rows,
                   uint64_t delivered)
{
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < count; i++)
        remove_first(l);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < rows->count; i++) {
        uint64_t position = nb_sql_rows_number(rows, i, 1);
        if (position > 0 && position <= delivered)
            nb_replica_find(l->replica, nb_sql_rows_bytes(rows, i, 0));
    }
}

int nb_publish_some(struct nb_stream_worker *l, bool *has, struct nb_error *error)
{
    struct nb_sql sql;
    struct nb_sql_rows rows;
    struct nb_point at = nb_replica_delivered(l->replica);
    *has = false;
    nb_publish_add_begin(l, at, false, &sql);
    size_t count = take(l, &sql);
    if (count == 0) {
        nb_sql_deinit(&sql);
        return 0;
    }
    int rc = nb_database_run(l->database, &sql, &rows, error);
    if (rc != 0) /* another node adds one of the ids at the same moment: read it, then try again */
        return rc == NB_EXISTS ? 0 : rc;
    *has = rows.count > 0;
    if (*has)
        finish(l, count, &rows, at.position);
    nb_sql_rows_deinit(&rows);
    return *has ? 0 : nb_error_set(error, NB_STOPPING, "stream %u has lost its end", l->which);
}
