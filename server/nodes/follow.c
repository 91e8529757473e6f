/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread of a worker. After any failure of the database it begins anew behind the last
 * delivered entry. It alternates between reading the stream for the replica and writing waiting
 * messages into it. So it looks for an entry whose commit was in doubt before it sends the entry
 * again.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/model/live/messages.h"
#include "core/nodes/queue.h"
#include "core/nodes/replica.h"
#include "server/base/log.h"
#include "server/nodes/member.h"
#include "server/nodes/stream_worker.h"

enum {
    READ_MOST = 512,         /* changes that are read at once */
    READ_BYTES = 4 << 20,    /* and their bytes, without the last */
    LOOK_MILLISECONDS = 100, /* until the stream is read even without a notification */
    REST_NANOSECONDS = 200000000,
    REFUSED_RESTS = 10, /* number of rests when the node must not follow */
};
/* Nanoseconds. If the stream has lost its end, nodes that are ahead put it back before others write
 * something else there. */
static const uint64_t OTHERS_FIRST = UINT64_C(1500000000);

/* ---- reading --------------------------------------------------------------------------------- */

static int deliver(struct nb_stream_worker *l, const struct nb_sql_rows *rows, int row,
                   struct nb_error *error)
{
    const struct nb_delivery d = {.position = nb_sql_rows_number(rows, row, 0),
                                  .id = nb_sql_rows_bytes(rows, row, 1),
                                  .checksum = nb_sql_rows_number(rows, row, 2),
                                  .message = nb_sql_rows_bytes(rows, row, 3)};
    if (d.position != nb_replica_delivered(l->replica).position + 1)
        return nb_error_set(error, NB_STOPPING, "stream %u has no change between %llu and %llu",
                            l->which, (unsigned long long)nb_replica_delivered(l->replica).position,
                            (unsigned long long)d.position);
    if (nb_message_checksum(d.id, d.message) != d.checksum)
        return nb_error_set(error, NB_STOPPING,
                            "change %llu of stream %u is damaged in the database: its checksum is "
                            "another one",
                            (unsigned long long)d.position, l->which);
    int rc = nb_replica_deliver(l->replica, &d, error);
    if (rc == NB_CORRUPT)
        nb_log(NB_LOG_WARNING, "nodes: change %llu of stream %u is passed over: %s",
               (unsigned long long)d.position, l->which, error->text);
    if (rc == NB_VERSION) {
        const struct nb_error why = *error;
        return nb_error_set(error, rc, "change %llu of stream %u: %s",
                            (unsigned long long)d.position, l->which, why.text);
    }
    if (rc != 0 && rc != NB_CORRUPT)
        return rc;
    nb_publish_delivered(l, d.id);
    return 0;
}

/* Each read begins with the last delivered entry, which the stream must still have. */
static int take(struct nb_stream_worker *l, const struct nb_sql_rows *rows, bool *is_end,
                struct nb_error *error)
{
    struct nb_point at = nb_replica_delivered(l->replica);
    int first = at.position == 0 ? 0 : 1, rc = 0;
    if (first == 1 && (rows->count == 0 || nb_sql_rows_number(rows, 0, 0) != at.position ||
                       nb_sql_rows_number(rows, 0, 2) != at.sum))
        return nb_error_set(error, NB_STOPPING, "stream %u has lost its end", l->which);
    if (rows->count > 0)
        atomic_store(&l->last, nb_sql_rows_number(rows, 0, 4));
    size_t bytes = 0;
    for (int i = first; rc == 0 && i < rows->count; i++) {
        bytes += nb_sql_rows_bytes(rows, i, 3).length;
        rc = deliver(l, rows, i, error);
    }
    *is_end = rows->count < READ_MOST / 2 && bytes < READ_BYTES / 2;
    return rc;
}

/* Notes that the worker has read the stream and delivered all of it. */
static void note_end(struct nb_stream_worker *l, uint64_t asked)
{
    nb_replica_note_end(l->replica);
    pthread_mutex_lock(&l->lock);
    if (nb_replica_applied(l->replica) >= atomic_load(&l->last))
        l->whole = nb_clock_monotonic();
    l->answered = asked;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

/* `more` are further columns. */
#define READ(more)                                                                                 \
    "SELECT position, id, checksum, CASE WHEN position = $2 THEN ''::bytea ELSE body END,"         \
    " (SELECT last FROM bayesd.stream WHERE number = $1)" more                                     \
    " FROM (SELECT position, id, checksum, body, sum(octet_length(body))"                          \
    "  OVER (ORDER BY position) - octet_length(body) AS before FROM bayesd.change"                 \
    "  WHERE stream = $1 AND position >= $2 ORDER BY position LIMIT $3) AS found"                  \
    " WHERE before <= $4 ORDER BY position"

/* `notifies`: also notifies other nodes that something was published, which saves a message of its
 * own. */
static int read_some(struct nb_stream_worker *l, bool notifies, bool *is_end,
                     struct nb_error *error)
{
    struct nb_sql sql = {
        .text =
            notifies ? READ(", (SELECT pg_notify('bayesd_' || $1::text, '')) IS NULL") : READ("")};
    struct nb_sql_rows rows;
    pthread_mutex_lock(&l->lock);
    uint64_t asked = l->asked;
    pthread_mutex_unlock(&l->lock);
    nb_sql_number(&sql, l->which);
    nb_sql_number(&sql, nb_replica_delivered(l->replica).position);
    nb_sql_number(&sql, READ_MOST);
    nb_sql_number(&sql, READ_BYTES);
    int rc = nb_database_run(l->database, &sql, &rows, error);
    if (rc != 0)
        return rc;
    rc = take(l, &rows, is_end, error);
    nb_sql_rows_deinit(&rows);
    if (rc == 0 && *is_end)
        note_end(l, asked);
    return rc;
}

/* ---- following ------------------------------------------------------------------------------- */

static void set_following(struct nb_stream_worker *l, bool follows, bool is_refused)
{
    atomic_store(&l->is_following, follows);
    nb_queue_set(l->nodes->queue, l->which,
                 follows      ? NB_QUEUE_THERE
                 : is_refused ? NB_QUEUE_FORBIDDEN
                              : NB_QUEUE_AWAY);
    pthread_mutex_lock(&l->lock);
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

/* A database without LISTEN wakes no node; nodes also read by themselves. */
static int listen_to(struct nb_stream_worker *l, bool *listens, struct nb_error *error)
{
    char text[48];
    struct nb_sql sql = {.text = text};
    (void)snprintf(text, sizeof text, "LISTEN bayesd_%u", l->which);
    int rc = nb_database_run(l->database, &sql, NULL, error);
    *listens = rc == 0;
    return rc == NB_STOPPING ? rc : 0;
}

static int follow(struct nb_stream_worker *l, struct nb_error *error)
{
    bool is_end = false, listens;
    int rc = listen_to(l, &listens, error);
    uint64_t half = l->nodes->config->nodes_patience *
                    UINT64_C(500000000); /* half the time that clients wait */
    uint64_t publishes_after = nb_clock_monotonic() + (half < OTHERS_FIRST ? half : OTHERS_FIRST);
    while (rc == 0 && !atomic_load(&l->nodes->stops)) {
        bool has_published = false;
        if (atomic_load(&l->is_following) && nb_clock_monotonic() >= publishes_after)
            rc = nb_publish_some(l, &has_published, error);
        if (rc == 0)
            rc = read_some(l, has_published && listens, &is_end, error);
        nb_replica_tick(l->replica);
        if (rc == 0)
            rc = nb_member_round(l, error);
        if (rc == 0 && is_end && !atomic_load(&l->is_following))
            set_following(l, true, false);
        if (rc == 0 && is_end && !has_published)
            rc = nb_database_wait(l->database, l->wake, LOOK_MILLISECONDS, error);
    }
    return rc;
}

/* If this node must not follow, that stays so even when the database does not answer. */
static bool say(struct nb_stream_worker *l, int rc, const struct nb_error *why)
{
    bool is_refused = rc != 0 && rc != NB_STOPPING;
    pthread_mutex_lock(&l->lock);
    if (l->is_refused && rc == NB_STOPPING) {
        pthread_mutex_unlock(&l->lock);
        return true;
    }
    bool is_new = strcmp(l->reason, why->text) != 0;
    (void)snprintf(l->reason, sizeof l->reason, "%s", why->text);
    l->is_refused = is_refused;
    pthread_mutex_unlock(&l->lock);
    if (is_new && rc != 0)
        nb_log(is_refused ? NB_LOG_ERROR : NB_LOG_WARNING, "nodes: %s", why->text);
    return is_refused;
}

void *nb_follow_main(void *argument)
{
    struct nb_stream_worker *l = argument;
    const struct timespec pause = {.tv_nsec = REST_NANOSECONDS};
    while (!atomic_load(&l->nodes->stops)) {
        struct nb_error why = {0};
        int rc = nb_database_open(l->conninfo, &l->nodes->stops, &l->database, &why);
        if (rc == 0)
            rc = nb_stream_find(l, &why);
        if (rc == 0) {
            (void)say(l, 0, &why); /* clears the last error */
            rc = follow(l, &why);
        }
        bool is_refused = rc != 0 && say(l, rc, &why);
        set_following(l, false, is_refused);
        nb_database_close(&l->database);
        for (int i = 0; i < (is_refused ? REFUSED_RESTS : 1); i++) {
            if (l->replica != NULL)
                nb_replica_tick(l->replica);
            if (!atomic_load(&l->nodes->stops))
                (void)nanosleep(&pause, NULL); /* it may wake early */
        }
    }
    return NULL;
}
