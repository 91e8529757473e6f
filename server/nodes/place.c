/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/base/key.h"
#include "core/model/live/state.h"
#include "core/model/live/trace.h"
#include "core/nodes/operation.h"
#include "core/nodes/replica.h"
#include "server/base/log.h"
#include "server/nodes/look.h"
#include "server/nodes/member.h"
#include "server/nodes/nodes_state.h"
#include "server/nodes/publish.h"

enum {
    MESSAGE_MOST = 8 << 20,
    SAME_MILLISECONDS = 30000,
    GROUP_MOST = 256,      /* entries that are put back at once, */
    GROUP_BYTES = 4 << 20, /* and their bytes, but for the last */
    TWICE_MOST = 3,        /* before an id that is there at another position is believed */
};

/* What the table says of a stream. */
struct found {
    uint64_t last, cut, made;
};

/* All that decides what applying does. */
void nb_place_identify(struct nb_nodes *n)
{
    const struct nb_engine_settings *s = &n->engine->settings;
    char key[NB_CONTENT_ID_LENGTH + 1];
    nb_key_content_id(&n->engine->key, 0xFE, "nodes", 5, key);
    (void)snprintf(n->identity, sizeof n->identity,
                   "bayesd format=%d tokenizer=%d apply=%d key=%.16s labels=%u models=%u "
                   "quarantine=%llu/%llu streams=%u",
                   NB_OPERATION_FORMAT, NB_TOKENIZER_VERSION, NB_APPLY_VERSION, key, s->labels,
                   s->models, (unsigned long long)s->quarantine_documents,
                   (unsigned long long)s->quarantine_bytes, s->streams);
}

/* ---- the stream ------------------------------------------------------------------------------ */

/* The first node says what the others must be like. */
static int identify(struct nb_lane *l, struct nb_error *error)
{
    struct nb_sql sql = {.text = "UPDATE bayesd.stream SET identity = $2"
                                 " WHERE number = $1 AND identity = ''"};
    nb_sql_number(&sql, l->which);
    nb_sql_text(&sql, nb_string_of(l->nodes->identity));
    int rc = nb_database_run(l->database, &sql, &l->nodes->stops, NULL, error);
    nb_sql_deinit(&sql);
    return rc;
}

static int check_identity(const struct nb_lane *l, struct nb_string there, struct nb_error *error)
{
    if (nb_string_equals(there, l->nodes->identity))
        return 0;
    return nb_error_set(error, NB_CONFLICT,
                        "the stream is of nodes with other versions, another key or other limits: "
                        "it says \"%.*s\", and this node \"%s\"",
                        (int)(there.length < 120 ? there.length : 120), there.bytes,
                        l->nodes->identity);
}

static int look(struct nb_lane *l, struct found *found, struct nb_error *error)
{
    struct nb_sql sql = {
        .text = "SELECT last, cut, made, identity FROM bayesd.stream WHERE number = $1"};
    struct nb_sql_rows rows;
    int rc = identify(l, error);
    nb_sql_number(&sql, l->which);
    if (rc == 0)
        rc = nb_database_run(l->database, &sql, &l->nodes->stops, &rows, error);
    nb_sql_deinit(&sql);
    if (rc == NB_FORBIDDEN) /* the tables may be made later */
        return nb_error_set(error, NB_STOPPING,
                            "the database has no tables for stream %u, or no rights to them "
                            "(bayesd --nodes-init): %.*s",
                            l->which, 160, error == NULL ? "" : error->text);
    if (rc != 0)
        return rc;
    if (rows.count == 0)
        rc = nb_error_set(error, NB_STOPPING,
                          "the database has no stream %u: call bayesd --nodes-init with the "
                          "[nodes] streams of this node",
                          l->which);
    if (rc == 0) {
        *found = (struct found){nb_sql_rows_number(&rows, 0, 0), nb_sql_rows_number(&rows, 0, 1),
                                nb_sql_rows_number(&rows, 0, 2)};
        rc = check_identity(l, nb_sql_rows_bytes(&rows, 0, 3), error);
    }
    nb_sql_rows_deinit(&rows);
    return rc;
}

/* The checksum of what is at a position; NB_NOT_FOUND: nothing is there. */
static int checksum_at(struct nb_lane *l, uint64_t position, uint64_t *checksum,
                       struct nb_error *error)
{
    struct nb_sql sql = {
        .text = "SELECT checksum FROM bayesd.change WHERE stream = $1 AND position = $2"};
    struct nb_sql_rows rows;
    nb_sql_number(&sql, l->which);
    nb_sql_number(&sql, position);
    int rc = nb_database_run(l->database, &sql, &l->nodes->stops, &rows, error);
    nb_sql_deinit(&sql);
    if (rc != 0)
        return rc;
    if (rows.count == 0)
        rc = NB_NOT_FOUND;
    else
        *checksum = nb_sql_rows_number(&rows, 0, 0);
    nb_sql_rows_deinit(&rows);
    return rc;
}

static int differ(const struct nb_lane *l, uint64_t position, struct nb_error *error)
{
    return nb_error_set(error, NB_CONFLICT,
                        "stream %u has another change at %" PRIu64
                        " than this node: the database has lost some, and other nodes have put "
                        "others in their place; stop this node, and call bayesd --join URL of "
                        "another one: what this one alone has is published again",
                        l->which, position);
}

/* ---- what the stream has lost ---------------------------------------------------------------- */

struct group {
    struct nb_sql *sql;
    struct nb_lane *lane;
    uint64_t after;  /* the end of the stream, where: */
    uint64_t agreed; /* this is the checksum there; and this node's is the same: */
    bool agrees;
    size_t count, bytes;
    struct nb_traced entries[GROUP_MOST]; /* `id` and `message` point into: */
    struct nb_buffer texts;
};

static int take_entry(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct group *g = user;
    if (one->position == g->after)
        g->agrees = one->checksum == g->agreed;
    if (one->position <= g->after)
        return 0;
    if (g->count == GROUP_MOST || g->bytes >= GROUP_BYTES ||
        one->position != g->after + g->count + 1)
        return 1;
    if (nb_buffer_append(&g->texts, one->id.bytes, one->id.length) != 0 ||
        nb_buffer_append(&g->texts, one->message.bytes, one->message.length) != 0)
        return nb_error_no_memory(error);
    g->entries[g->count++] = *one;
    g->bytes += one->message.length;
    return 0;
}

static void add_entries(const struct group *g, struct nb_sql *sql)
{
    const char *at = g->texts.bytes;
    nb_sql_array(sql, NB_SQL_NUMBER, g->count);
    for (size_t i = 0; i < g->count; i++)
        nb_sql_element_number(sql, g->entries[i].position);
    nb_sql_array(sql, NB_SQL_NUMBER, g->count);
    for (size_t i = 0; i < g->count; i++)
        nb_sql_element_number(sql, g->entries[i].checksum);
    nb_sql_array(sql, NB_SQL_TEXT, g->count);
    for (size_t i = 0; i < g->count; i++) {
        nb_sql_element(sql, (struct nb_string){at, g->entries[i].id.length});
        at += g->entries[i].id.length + g->entries[i].message.length;
    }
    at = g->texts.bytes;
    nb_sql_array(sql, NB_SQL_BYTES, g->count);
    for (size_t i = 0; i < g->count; i++) {
        at += g->entries[i].id.length;
        nb_sql_element(sql, (struct nb_string){at, g->entries[i].message.length});
        at += g->entries[i].message.length;
    }
}

/* One transaction. Where another node was faster nothing is done: then the stream goes on further,
 * and is looked at again. */
static int put_group(struct nb_lane *l, const struct group *g, uint64_t made,
                     struct nb_error *error)
{
    struct nb_sql sql = {.text =
                             "WITH moved AS (UPDATE bayesd.stream SET last = last + $4"
                             "  WHERE number = $1 AND made = $2 AND last = $3 RETURNING number)"
                             "INSERT INTO bayesd.change (stream, position, checksum, id, body)"
                             " SELECT $1, g.position, g.checksum, g.id, g.body FROM moved, unnest("
                             " $5::bigint[], $6::bigint[], $7::text[], $8::bytea[])"
                             " AS g(position, checksum, id, body)"};
    struct nb_sql_rows rows;
    nb_sql_number(&sql, l->which);
    nb_sql_number(&sql, made);
    nb_sql_number(&sql, g->after);
    nb_sql_number(&sql, g->count);
    add_entries(g, &sql);
    int rc = nb_database_run(l->database, &sql, &l->nodes->stops, &rows, error);
    nb_sql_deinit(&sql);
    if (rc == NB_EXISTS && ++l->twice > TWICE_MOST)
        return differ(l, g->after + 1, error);
    if (rc != 0)
        return rc == NB_EXISTS ? 0 : rc;
    l->twice = 0;
    if (rows.changed > 0) {
        atomic_fetch_add(&l->put_back, rows.changed);
        nb_log(NB_LOG_WARNING,
               "nodes: stream %u ended at %" PRIu64 ": this node has put %llu changes back that "
               "the database had lost",
               l->which, g->after, (unsigned long long)rows.changed);
    }
    nb_sql_rows_deinit(&rows);
    return 0;
}

/* This node is ahead of the stream. */
static int put_back(struct nb_lane *l, const struct found *found, struct nb_error *error)
{
    struct group g = {.lane = l, .after = found->last, .agrees = found->last == 0};
    uint64_t from = found->last == 0 ? 1 : found->last;
    int rc = nb_replica_settle(l->replica);
    if (rc != 0)
        return nb_error_set(error, rc, "the daemon is stopping");
    rc = found->last == 0 ? 0 : checksum_at(l, found->last, &g.agreed, error);
    bool is_cut = rc == NB_NOT_FOUND;
    rc = is_cut ? 0 : rc;
    if (rc == 0)
        rc = nb_trace_scan(l->nodes->engine, l->which, from, take_entry, &g, error);
    if (rc >= 0 && !g.agrees && g.count > 0 && !is_cut)
        rc = differ(l, found->last, error);
    if (rc >= 0 && (g.count == 0 || !g.agrees))
        rc = nb_error_set(error, NB_CONFLICT,
                          "this node has more of stream %u than the database, which ends at "
                          "%" PRIu64 ", and does not keep what is between: see the page of nodes",
                          l->which, found->last);
    if (rc >= 0)
        rc = put_group(l, &g, found->made, error);
    nb_buffer_deinit(&g.texts);
    return rc < 0 ? rc : 0;
}

/* ---- this node ------------------------------------------------------------------------------- */

static void warn(void *user, const struct nb_error *why)
{
    (void)user;
    nb_log(NB_LOG_WARNING, "nodes: %s", why->text);
}

static int make_replica(struct nb_lane *l, const struct found *found, struct nb_error *error)
{
    const struct nb_config *config = l->nodes->config;
    const struct nb_replica_settings settings = {
        .publish = nb_publish,
        .look = nb_look_ask,
        .is_there = nb_look_is_there,
        .warn = warn,
        .user = l,
        .stream = l->which,
        .queue = l->nodes->queue,
        .message_most = MESSAGE_MOST,
        .seed = nb_trace_checksum(nb_string_of(l->nodes->name), nb_string_of(config->data)),
        .patience = config->nodes_patience * UINT64_C(1000000000),
        .same_for = SAME_MILLISECONDS,
        .compare_every = config->nodes_digest_seconds * UINT64_C(1000000000)};
    struct nb_replica *replica = NULL;
    int rc = nb_replica_new(l->nodes->engine, &settings, found->made, &replica, error);
    if (rc != 0)
        return rc;
    pthread_rwlock_wrlock(&l->using);
    l->replica = replica;
    pthread_rwlock_unlock(&l->using);
    atomic_store(&l->made, found->made);
    return 0;
}

static int outrun(struct nb_lane *l, const struct found *found, uint64_t needs,
                  struct nb_error *error)
{
    atomic_store(&l->is_outrun, true);
    return nb_error_set(error, NB_CONFLICT,
                        "stream %u begins behind %" PRIu64 " now, and this node needs %" PRIu64
                        ": %s",
                        l->which, found->cut, needs,
                        l->nodes->config->nodes_peers[0] != '\0'
                            ? "it takes the store of another node (peers)"
                            : "name other nodes in [nodes] peers, of which it takes the store, or "
                              "call bayesd --join with an empty directory");
}

/* Whether the stream has what this node was given last. 1: something was put back, look again. */
static int check_end(struct nb_lane *l, const struct found *found, struct nb_error *error)
{
    struct nb_point at = nb_replica_delivered(l->replica);
    uint64_t there;
    atomic_store(&l->is_outrun, false);
    if (found->made != atomic_load(&l->made))
        return nb_error_set(error, NB_CONFLICT,
                            "the tables of stream %u were made anew: what this node knows is not "
                            "in them",
                            l->which);
    if (at.position == 0)
        return found->cut > 0 ? outrun(l, found, 1, error) : 0;
    if (at.position > found->last) {
        int rc = put_back(l, found, error);
        return rc == 0 ? 1 : rc;
    }
    int rc = checksum_at(l, at.position, &there, error);
    if (rc == NB_NOT_FOUND && at.position <= found->cut)
        return outrun(l, found, at.position, error);
    if (rc == NB_NOT_FOUND || (rc == 0 && there != at.sum))
        return differ(l, at.position, error);
    return rc;
}

int nb_place_find(struct nb_lane *l, struct nb_error *error)
{
    struct found found;
    int rc;
    do {
        rc = look(l, &found, error);
        if (rc == 0)
            atomic_store(&l->last, found.last);
        if (rc == 0) /* from now on nothing is cut that this node does not have */
            rc = nb_member_round(l, error);
        if (rc == 0 && l->replica == NULL)
            rc = make_replica(l, &found, error);
        if (rc == 0)
            rc = check_end(l, &found, error);
    } while (rc == 1 && !atomic_load(&l->nodes->stops));
    return rc == 1 ? nb_error_set(error, NB_STOPPING, "the daemon is stopping") : rc;
}
