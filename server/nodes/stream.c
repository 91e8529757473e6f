/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread of a worker. After any failure of the database it begins anew: it checks that the
 * stream is this node's and continues at its position, and restores the end of a stream that has
 * lost it. Then it alternates between reading the stream for the replica and writing waiting
 * messages into it. So it looks for an entry whose commit was in doubt before it sends the entry
 * again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "config/config.h"
#include "core/base/key.h"
#include "core/base/system.h"
#include "core/model/relayed.h"
#include "core/model/state.h"
#include "core/nodes/operation.h"
#include "core/nodes/replica.h"
#include "server/base/log.h"
#include "server/nodes/stream_worker.h"

enum {
    IDENTITY_MOST = 256,
    READ_MOST = 512,         /* most changes read at once */
    LOOK_MILLISECONDS = 100, /* time after which the stream is read even without a notification */
    REST_NANOSECONDS = 200000000,
    REFUSED_RESTS = 10, /* rests between attempts of a node that must not follow */
};
/* In nanoseconds, how long a node waits before it publishes: if the stream has lost its end, nodes
 * that are ahead put it back before others write something else there. */
static const uint64_t OTHERS_FIRST = UINT64_C(1500000000);

/* Versions of the rules by which a node makes changes and applies them. */
struct rules {
    unsigned tokenizer, apply;
};
static const struct rules OWN_RULES = {NB_TOKENIZER_VERSION, NB_APPLY_VERSION};

/* The identity contains all that affects what applying a change does. */
static void identify(const struct nb_engine *engine, struct rules rules,
                     char identity[IDENTITY_MOST])
{
    const struct nb_engine_settings *s = &engine->settings;
    char key[NB_CONTENT_ID_LENGTH + 1];
    nb_key_content_id(&engine->key, 0xFE, "nodes", 5, key);
    (void)snprintf(identity, IDENTITY_MOST,
                   "bayesd format=%d tokenizer=%u apply=%u key=%.16s labels=%u models=%u "
                   "quarantine=%llu/%llu streams=%u",
                   NB_OPERATION_FORMAT, rules.tokenizer, rules.apply, key, s->labels, s->models,
                   (unsigned long long)s->quarantine_documents,
                   (unsigned long long)s->quarantine_bytes, s->streams);
}

/* ---- checking the stream --------------------------------------------------------------------- */

/* The state of a stream in the tables. */
struct found {
    uint64_t last, cut, made;
    struct nb_point there; /* the stream's entry at this node's position, or the last entry if that
                              is earlier; 0: deleted */
};

/* Whether `there` is the identity that an older version of this node would give the stream. */
static bool is_of_older(const struct nb_engine *engine, struct nb_string there)
{
    char text[IDENTITY_MOST], older[IDENTITY_MOST];
    struct rules rules;
    (void)snprintf(text, sizeof text, "%.*s", (int)there.length, there.bytes);
    if (sscanf(text, "bayesd format=%*u tokenizer=%u apply=%u ", &rules.tokenizer, &rules.apply) !=
        2)
        return false;
    identify(engine, rules, older);
    return nb_string_equals(there, older) && rules.tokenizer <= OWN_RULES.tokenizer &&
           rules.apply <= OWN_RULES.apply;
}

/* Makes the stream one of this node's version. Nodes of the version before notice it with their
 * next read, and must not follow until they are upgraded, too. */
static int raise(struct nb_stream_worker *l, struct nb_string from, const char *to,
                 struct nb_error *error)
{
    static const char RAISE[] =
        "UPDATE bayesd.stream SET identity = $2 WHERE number = $1 AND identity = $3";
    char before[IDENTITY_MOST];
    (void)snprintf(before, sizeof before, "%.*s", (int)from.length, from.bytes);
    const struct nb_sql_value values[NB_SQL_VALUES] = {nb_sql_number(l->which), nb_sql_text(to),
                                                       nb_sql_text(before)};
    nb_log(NB_LOG_INFO, "nodes: stream %u is of this version from now on: it was \"%s\"", l->which,
           before);
    return nb_database_run(l->database, RAISE, values, NULL, error);
}

/* Compares the identity of the stream with this node's. Returns 0, NB_CONFLICT or the code of a
 * statement. */
static int compare(struct nb_stream_worker *l, struct nb_string there, const char *identity,
                   struct nb_error *error)
{
    if (nb_string_equals(there, identity))
        return 0;
    if (is_of_older(l->nodes->engine, there))
        return raise(l, there, identity, error);
    return nb_error_set(error, NB_CONFLICT,
                        "the stream is of nodes with other versions, another key or other "
                        "limits: it says \"%.*s\", and this node \"%s\"",
                        (int)(there.length < 120 ? there.length : 120), there.bytes, identity);
}

/* Reads the state of the stream. The first node sets the identity that the others must have. */
static int look(struct nb_stream_worker *l, struct found *found, struct nb_error *error)
{
    static const char IDENTIFY[] =
        "UPDATE bayesd.stream SET identity = $2 WHERE number = $1 AND identity = ''";
    static const char LOOK[] =
        "SELECT s.last, s.cut, s.made, s.identity, c.position, c.checksum"
        " FROM bayesd.stream s LEFT JOIN bayesd.change c"
        " ON c.stream = s.number AND c.position = least(s.last, $2) WHERE s.number = $1";
    char identity[IDENTITY_MOST];
    identify(l->nodes->engine, OWN_RULES, identity);
    struct nb_sql_value values[NB_SQL_VALUES] = {nb_sql_number(l->which), nb_sql_text(identity)};
    struct nb_sql_rows rows = {.count = 0};
    int rc = nb_database_run(l->database, IDENTIFY, values, NULL, error);
    values[1] = nb_sql_number(l->replica->delivered.position);
    if (rc == 0)
        rc = nb_database_run(l->database, LOOK, values, &rows, error);
    if (rc == NB_FORBIDDEN || (rc == 0 && rows.count == 0)) /* somebody may create them later */
        rc = nb_error_set(error, NB_STOPPING,
                          "the database has no tables for stream %u, or no rights to them: call "
                          "bayesd --nodes-init with the [nodes] streams of this node",
                          l->which);
    if (rc == 0) {
        *found = (struct found){
            nb_sql_rows_number(&rows, 0, 0), nb_sql_rows_number(&rows, 0, 1),
            nb_sql_rows_number(&rows, 0, 2),
            (struct nb_point){nb_sql_rows_number(&rows, 0, 4), nb_sql_rows_number(&rows, 0, 5)}};
        atomic_store(&l->replica->last, found->last);
        rc = compare(l, nb_sql_rows_bytes(&rows, 0, 3), identity, error);
    }
    nb_sql_rows_deinit(&rows);
    return rc;
}

static int differ(const struct nb_stream_worker *l, uint64_t position, struct nb_error *error)
{
    return nb_error_set(
        error, NB_CONFLICT,
        "stream %u has another change than this node at %" PRIu64
        " or after it: the database has lost some, and other nodes have put others "
        "in their place, or none has them any more; stop this node, and call bayesd "
        "--join URL of another one: what this one alone has is published again",
        l->which, position);
}

/* ---- adding entries -------------------------------------------------------------------------- */

/* Appends entries. The statement locks the row with the next position, so that positions are in the
 * order of commits, and a reader never sees a position before the lower ones. It is a single
 * statement, and so one transaction, whose lock ends without another message from this node. If two
 * nodes add an id at the same moment, the index reports it. */
static const char ADD[] =
    "WITH given AS (SELECT * FROM unnest($6::text[], $7::bigint[], $8::bytea[])"
    "  WITH ORDINALITY AS g(id, checksum, body, place)),"
    " fresh AS (SELECT id, checksum, body, row_number() OVER (ORDER BY place) AS k FROM given"
    "  WHERE $5 = 1"
    "  OR NOT EXISTS (SELECT 1 FROM bayesd.change c WHERE c.stream = $1 AND c.id = given.id)),"
    " moved AS (UPDATE bayesd.stream SET last = last + (SELECT count(*) FROM fresh)"
    "  WHERE number = $1 AND made = $2 AND last >= $3 AND ($3 = 0 OR EXISTS (SELECT 1"
    "  FROM bayesd.change WHERE stream = $1 AND position = $3 AND checksum = $4))"
    "  AND ($5 = 0 OR last = $3) RETURNING last),"
    " added AS (INSERT INTO bayesd.change (stream, position, id, checksum, body)"
    "  SELECT $1, last - (SELECT count(*) FROM fresh) + k, id, checksum, body FROM fresh, moved)"
    "SELECT count(c.id) FILTER (WHERE c.position <= $3) FROM moved LEFT JOIN (given"
    " JOIN bayesd.change c ON c.stream = $1 AND c.id = given.id) ON true GROUP BY last";

struct entries {
    struct nb_sql_array ids, checksums, bodies;
};
static const struct entries none = {
    {.type = NB_SQL_TEXT}, {.type = NB_SQL_NUMBER}, {.type = NB_SQL_BYTES}};

static void add(void *entries, struct nb_string id, struct nb_string message)
{
    struct entries *e = entries;
    nb_sql_add(&e->ids, id);
    nb_sql_add_number(&e->checksums, nb_message_checksum(id, message));
    nb_sql_add(&e->bodies, message);
}

static void free_entries(struct entries *e)
{
    nb_buffer_deinit(&e->ids.written);
    nb_buffer_deinit(&e->checksums.written);
    nb_buffer_deinit(&e->bodies.written);
}

/* Appends the entries to a stream that has the entry `after` or is empty, and frees them. With
 * `is_exact` it appends them only if `after` is the last entry, and returns NB_EXISTS if the stream
 * has one of the ids; otherwise it skips ids that the stream has. Sets *had to the number of ids
 * that the stream had up to `after`, or to -1 if it did nothing. */
static int append(struct nb_stream_worker *l, struct nb_point after, bool is_exact,
                  struct entries *e, int64_t *had, struct nb_error *error)
{
    const struct nb_sql_value values[NB_SQL_VALUES] = {
        nb_sql_number(l->which),           nb_sql_number(l->replica->made),
        nb_sql_number(after.position),     nb_sql_number(after.sum),
        nb_sql_number(is_exact ? 1 : 0),   nb_sql_array_value(&e->ids),
        nb_sql_array_value(&e->checksums), nb_sql_array_value(&e->bodies)};
    struct nb_sql_rows rows = {.count = 0};
    int rc = (e->ids.code | e->checksums.code | e->bodies.code) != 0
                 ? nb_error_no_memory(error)
                 : nb_database_run(l->database, ADD, values, &rows, error);
    *had = rows.count > 0 ? (int64_t)nb_sql_rows_number(&rows, 0, 0) : -1;
    nb_sql_rows_deinit(&rows);
    free_entries(e);
    return rc;
}

/* ---- putting back lost entries --------------------------------------------------------------- */

struct group {
    struct entries entries;
    uint64_t end; /* the stream's last position */
    uint64_t sum; /* of this node's entry there */
};

static int take_entry(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct group *g = user;
    (void)error;
    if (one->position == g->end) {
        g->sum = one->checksum;
        return 0;
    }
    size_t count = g->entries.ids.count, bytes = g->entries.bodies.written.length;
    if (count == NB_TAKEN_MOST || bytes >= NB_TAKEN_BYTES || one->position != g->end + count + 1)
        return 1;
    add(&g->entries, one->id, one->message);
    return 0;
}

/* Puts back lost entries in one transaction when this node is ahead of the stream. Does nothing if
 * another node was faster: then the stream is longer. */
static int put_back(struct nb_stream_worker *l, const struct found *found, struct nb_error *error)
{
    struct group g = {.entries = none, .end = found->last};
    int64_t had = -1;
    size_t count = 0;
    int rc = nb_replica_settle(l->replica, error);
    if (rc == 0)
        rc = nb_message_scan(l->nodes->engine, NB_KEPT_TRACE, l->which,
                             found->last == 0 ? 1 : found->last, take_entry, &g, error);
    count = g.entries.ids.count;
    bool agrees = found->last == 0 || (found->there.position != 0 && g.sum == found->there.sum);
    if (rc >= 0 && (count == 0 || !agrees)) /* this node keeps only its last changes */
        rc = differ(l, found->last, error);
    else if (rc >= 0)
        rc = append(l, (struct nb_point){found->last, found->there.sum}, true, &g.entries, &had,
                    error);
    free_entries(&g.entries);
    if (rc != 0) /* the stream has an id of this node at another position */
        return rc == NB_EXISTS ? differ(l, found->last + 1, error) : rc;
    if (had < 0)
        return 0;
    atomic_fetch_add(&l->put_back, count);
    nb_log(NB_LOG_WARNING,
           "nodes: stream %u ended at %" PRIu64 ": this node has put %zu changes back that the "
           "database had lost",
           l->which, found->last, count);
    return 0;
}

/* ---- this node ------------------------------------------------------------------------------- */

/* Checks that the stream has the last entry delivered to this node. Returns 1 after an attempt to
 * put entries back: check again. */
static int check_end(struct nb_stream_worker *l, const struct found *found, struct nb_error *error)
{
    struct nb_point at = l->replica->delivered;
    bool is_outrun = found->there.position == 0 && found->cut > 0 && at.position <= found->cut;
    atomic_store(&l->is_outrun, is_outrun);
    if (at.position > found->last) {
        int rc = put_back(l, found, error);
        return rc == 0 ? 1 : rc;
    }
    if (is_outrun)
        return nb_error_set(error, NB_CONFLICT,
                            "stream %u begins behind %" PRIu64 " now, and this node is at %" PRIu64
                            ": it takes the store of a node that [nodes] peers names, or call "
                            "bayesd --join",
                            l->which, found->cut, at.position);
    return found->there.position == at.position && found->there.sum == at.sum
               ? 0
               : differ(l, at.position, error);
}

/* Checks that the stream is this node's and continues at its position, and makes the replica. If
 * the stream has lost its end, because a standby server that was behind took over, or a backup was
 * restored, puts back the lost entries that this node has, at the same positions, with the same
 * ids. Returns 0, NB_STOPPING (a later try may succeed) or a code: this node must not follow. */
static int find(struct nb_stream_worker *l, struct nb_error *error)
{
    struct found found = {0};
    int rc = 1;
    while (rc == 1 && !atomic_load(&l->nodes->stops)) {
        rc = look(l, &found, error);
        if (rc == 0) /* from now on no change is deleted that this node lacks */
            rc = nb_member_round(l, error);
        if (rc == 0)
            rc = nb_replica_join(l->replica, found.made, error);
        if (rc == 0)
            rc = check_end(l, &found, error);
    }
    return rc == 1 ? nb_error_set(error, NB_STOPPING, "the daemon is stopping") : rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int deliver(struct nb_stream_worker *l, const struct nb_sql_rows *rows, int row,
                   struct nb_error *error)
{
    const struct nb_traced d = {.position = nb_sql_rows_number(rows, row, 0),
                                .id = nb_sql_rows_bytes(rows, row, 1),
                                .checksum = nb_sql_rows_number(rows, row, 2),
                                .message = nb_sql_rows_bytes(rows, row, 3)};
    if (d.position != l->replica->delivered.position + 1 ||
        nb_message_checksum(d.id, d.message) != d.checksum)
        return nb_error_set(error, NB_STOPPING,
                            "change %llu of stream %u is damaged in the database (its checksum is "
                            "another one), or the one before it is missing",
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
    return rc == NB_CORRUPT ? 0 : rc;
}

/* Reads entries, and the last position, which is NULL if the stream is of another version by now;
 * `more` has further columns. */
#define READ(more)                                                                                 \
    "SELECT position, id, checksum, CASE WHEN position = $2 THEN ''::bytea ELSE body END,"         \
    " (SELECT last FROM bayesd.stream WHERE number = $1 AND identity = $5)" more                   \
    " FROM (SELECT position, id, checksum, body, sum(octet_length(body))"                          \
    "  OVER (ORDER BY position) - octet_length(body) AS before FROM bayesd.change"                 \
    "  WHERE stream = $1 AND position >= $2 ORDER BY position LIMIT $3) AS found"                  \
    " WHERE before <= $4 ORDER BY position"

/* Reads and delivers the entries after the last delivered one, which the stream must still have.
 * `notifies`: also tells other nodes that something was published, which saves a message. */
static int read_some(struct nb_stream_worker *l, bool notifies, bool *is_end,
                     struct nb_error *error)
{
    struct nb_replica *r = l->replica;
    struct nb_point at = r->delivered;
    char identity[IDENTITY_MOST];
    identify(l->nodes->engine, OWN_RULES, identity);
    const struct nb_sql_value values[NB_SQL_VALUES] = {
        nb_sql_number(l->which), nb_sql_number(at.position), nb_sql_number(READ_MOST),
        nb_sql_number(NB_TAKEN_BYTES), nb_sql_text(identity)};
    struct nb_sql_rows rows;
    uint64_t began = nb_clock_monotonic();
    int rc = nb_database_run(
        l->database,
        notifies ? READ(", (SELECT pg_notify('bayesd_' || $1::text, '')) IS NULL") : READ(""),
        values, &rows, error);
    if (rc != 0)
        return rc;
    if (at.position > 0 && (rows.count == 0 || nb_sql_rows_number(&rows, 0, 0) != at.position ||
                            nb_sql_rows_number(&rows, 0, 2) != at.sum))
        rc = nb_error_set(error, NB_STOPPING, "stream %u has lost its end", l->which);
    if (rc == 0 && rows.count > 0 && nb_sql_rows_number(&rows, 0, 4) == 0)
        rc = nb_error_set(error, NB_STOPPING, "stream %u is of nodes of another version now",
                          l->which);
    if (rc == 0 && rows.count > 0)
        atomic_store(&r->last, nb_sql_rows_number(&rows, 0, 4));
    for (int i = at.position > 0 ? 1 : 0; rc == 0 && i < rows.count; i++)
        rc = deliver(l, &rows, i, error);
    *is_end = rc == 0 && r->delivered.position == atomic_load(&r->last);
    nb_sql_rows_deinit(&rows);
    if (*is_end)
        nb_replica_note_end(r, began);
    return rc;
}

/* ---- publishing ------------------------------------------------------------------------------ */

/* Writes waiting messages into the stream, as many as one transaction takes; later messages are
 * left for the next one. Sets *has to whether there were any. */
static int publish_some(struct nb_stream_worker *l, bool *has, struct nb_error *error)
{
    struct entries entries = none;
    int64_t had;
    *has = false;
    if (nb_replica_take(l->replica, add, &entries) == 0)
        return 0;
    int rc = append(l, l->replica->delivered, false, &entries, &had, error);
    if (rc != 0) /* another node adds one of the ids at the same moment: read it, then try again */
        return rc == NB_EXISTS ? 0 : rc;
    *has = had >= 0;
    if (*has)
        nb_replica_sent(l->replica, (size_t)had);
    return *has ? 0 : nb_error_set(error, NB_STOPPING, "stream %u has lost its end", l->which);
}

/* ---- following ------------------------------------------------------------------------------- */

static int follow(struct nb_stream_worker *l, struct nb_error *error)
{
    bool is_end = false, is_there = false;
    char listen[48];
    (void)snprintf(listen, sizeof listen, "LISTEN bayesd_%u", l->which);
    int rc = nb_database_run(l->database, listen, NULL, NULL, error);
    bool listens = rc == 0; /* else the database knows no LISTEN: nodes also read on their own */
    rc = rc == NB_STOPPING ? rc : 0;
    uint64_t half = l->nodes->config->nodes_patience *
                    UINT64_C(500000000); /* half the time that clients wait */
    uint64_t publishes_after = nb_clock_monotonic() + (half < OTHERS_FIRST ? half : OTHERS_FIRST);
    while (rc == 0 && !atomic_load(&l->nodes->stops)) {
        bool has_published = false;
        if (is_there && nb_clock_monotonic() >= publishes_after)
            rc = publish_some(l, &has_published, error);
        if (rc == 0)
            rc = read_some(l, has_published && listens, &is_end, error);
        nb_replica_tick(l->replica);
        if (rc == 0)
            rc = nb_member_round(l, error);
        if (rc == 0 && is_end && !is_there) {
            is_there = true;
            atomic_store(&l->replica->stream, NB_REPLICA_THERE);
        }
        if (rc == 0 && is_end && !has_published)
            rc = nb_database_wait(l->database, l->wake, LOOK_MILLISECONDS, error);
    }
    return rc;
}

static void say(struct nb_stream_worker *l, int rc, const struct nb_error *why)
{
    pthread_mutex_lock(&l->nodes->lock);
    bool is_new = strcmp(l->reason, why->text) != 0;
    (void)snprintf(l->reason, sizeof l->reason, "%s", why->text);
    pthread_mutex_unlock(&l->nodes->lock);
    if (is_new && rc != 0)
        nb_log(rc == NB_STOPPING ? NB_LOG_WARNING : NB_LOG_ERROR, "nodes: %s", why->text);
}

void *nb_follow_main(void *argument)
{
    struct nb_stream_worker *l = argument;
    const struct timespec pause = {.tv_nsec = REST_NANOSECONDS};
    bool is_refused = false;
    while (!atomic_load(&l->nodes->stops)) {
        struct nb_error why = {0};
        int rc = nb_database_open(l->conninfo, &l->nodes->stops, &l->database, &why);
        if (rc == 0)
            rc = find(l, &why);
        if (rc == 0) {
            is_refused = false;
            atomic_store(&l->replica->stream, NB_REPLICA_AWAY);
            say(l, 0, &why); /* clears the last error */
            rc = follow(l, &why);
        }
        /* If this node must not follow, that stays so even when the database does not answer. */
        if (rc != 0 && !(is_refused && rc == NB_STOPPING)) {
            is_refused = rc != NB_STOPPING;
            say(l, rc, &why);
        }
        atomic_store(&l->replica->stream, is_refused ? NB_REPLICA_FORBIDDEN : NB_REPLICA_AWAY);
        nb_database_close(&l->database);
        for (int i = 0; i < (is_refused ? REFUSED_RESTS : 1); i++) {
            nb_replica_tick(l->replica);
            if (!atomic_load(&l->nodes->stops))
                (void)nanosleep(&pause, NULL); /* it may be interrupted */
        }
    }
    return NULL;
}
