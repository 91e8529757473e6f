/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that the stream is this node's and continues at its position, and restores the end of a
 * stream that has lost it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "core/base/key.h"
#include "core/model/live/messages.h"
#include "core/model/live/state.h"
#include "core/nodes/operation.h"
#include "core/nodes/replica.h"
#include "server/base/log.h"
#include "server/nodes/member.h"

enum {
    MESSAGE_MOST = 8 << 20,
    SAME_MILLISECONDS = 30000,
    GROUP_MOST = 256,      /* entries that are put back at once */
    GROUP_BYTES = 4 << 20, /* and their bytes, without the last */
    IN_VAIN_MOST = 3,      /* attempts until an id at another position is taken as a fact */
};

/* The identity has all that determines the result of applying. */
void nb_stream_identify(struct nb_nodes *n)
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

/* ---- checking the stream --------------------------------------------------------------------- */

/* The state of a stream in the tables. */
struct found {
    uint64_t last, cut, made;
    struct nb_point there; /* the stream's entry at this node's position, or its end if that is
                              earlier; 0: deleted */
};

static int check_identity(const struct nb_stream_worker *l, struct nb_string there,
                          struct nb_error *error)
{
    if (nb_string_equals(there, l->nodes->identity))
        return 0;
    return nb_error_set(error, NB_CONFLICT,
                        "the stream is of nodes with other versions, another key or other limits: "
                        "it says \"%.*s\", and this node \"%s\"",
                        (int)(there.length < 120 ? there.length : 120), there.bytes,
                        l->nodes->identity);
}

/* The first node sets the identity that the others must have. */
static int look(struct nb_stream_worker *l, struct found *found, struct nb_error *error)
{
    struct nb_sql identify = {.text = "UPDATE bayesd.stream SET identity = $2"
                                      " WHERE number = $1 AND identity = ''"};
    struct nb_sql sql = {
        .text = "SELECT s.last, s.cut, s.made, s.identity, c.position, c.checksum"
                " FROM bayesd.stream s LEFT JOIN bayesd.change c"
                " ON c.stream = s.number AND c.position = least(s.last, $2) WHERE s.number = $1"};
    struct nb_sql_rows rows;
    nb_sql_number(&identify, l->which);
    nb_sql_text(&identify, nb_string_of(l->nodes->identity));
    int rc = nb_database_run(l->database, &identify, NULL, error);
    nb_sql_number(&sql, l->which);
    nb_sql_number(&sql, l->replica == NULL ? 0 : nb_replica_delivered(l->replica).position);
    if (rc == 0)
        rc = nb_database_run(l->database, &sql, &rows, error);
    nb_sql_deinit(&sql);
    if (rc == NB_FORBIDDEN) /* the tables may be made later */
        return nb_error_set(error, NB_STOPPING,
                            "the database has no tables for stream %u, or no rights to them "
                            "(bayesd --nodes-init): %.*s",
                            l->which, 160, error->text);
    if (rc != 0)
        return rc;
    if (rows.count == 0) {
        rc = nb_error_set(error, NB_STOPPING,
                          "the database has no stream %u: call bayesd --nodes-init with the "
                          "[nodes] streams of this node",
                          l->which);
    } else {
        *found = (struct found){
            nb_sql_rows_number(&rows, 0, 0), nb_sql_rows_number(&rows, 0, 1),
            nb_sql_rows_number(&rows, 0, 2),
            (struct nb_point){nb_sql_rows_number(&rows, 0, 4), nb_sql_rows_number(&rows, 0, 5)}};
        atomic_store(&l->last, found->last);
        rc = check_identity(l, nb_sql_rows_bytes(&rows, 0, 3), error);
    }
    nb_sql_rows_deinit(&rows);
    return rc;
}

static int differ(const struct nb_stream_worker *l, uint64_t position, struct nb_error *error)
{
    return nb_error_set(error, NB_CONFLICT,
                        "stream %u has another change at %" PRIu64
                        " than this node: the database has lost some, and other nodes have put "
                        "others in their place; stop this node, and call bayesd --join URL of "
                        "another one: what this one alone has is published again",
                        l->which, position);
}

/* ---- putting back lost entries --------------------------------------------------------------- */

struct group {
    struct nb_sql sql;
    const struct found *found;
    bool agrees; /* this node has the same entry at the end of the stream */
    size_t count, bytes;
};

static int take_entry(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct group *g = user;
    (void)error;
    if (one->position == g->found->last)
        g->agrees = g->found->there.position != 0 && one->checksum == g->found->there.sum;
    if (one->position <= g->found->last)
        return 0;
    if (g->count == GROUP_MOST || g->bytes >= GROUP_BYTES ||
        one->position != g->found->last + g->count + 1)
        return 1;
    nb_publish_add(&g->sql, one->id, one->checksum, one->message);
    g->count++;
    g->bytes += one->message.length;
    return 0;
}

/* Puts back a group in one transaction. Does nothing if another node was faster: the stream is
 * longer then, and is checked again. */
static int put_group(struct nb_stream_worker *l, struct group *g, struct nb_error *error)
{
    struct nb_sql_rows rows = {.result = NULL};
    uint64_t last = g->found->last;
    int rc = nb_database_run(l->database, &g->sql, &rows, error);
    if (rc != 0 && rc != NB_EXISTS)
        return rc;
    bool is_put = rc == 0 && rows.count > 0;
    if (rc == 0)
        nb_sql_rows_deinit(&rows);
    l->put_in_vain = is_put ? 0 : l->put_behind == last ? l->put_in_vain + 1 : 1;
    l->put_behind = last;
    if (l->put_in_vain > IN_VAIN_MOST)
        return differ(l, last + 1, error);
    if (!is_put)
        return 0;
    atomic_fetch_add(&l->put_back, g->count);
    nb_log(NB_LOG_WARNING,
           "nodes: stream %u ended at %" PRIu64 ": this node has put %zu changes back that the "
           "database had lost",
           l->which, last, g->count);
    return 0;
}

/* Puts back entries when this node is ahead of the stream. */
static int put_back(struct nb_stream_worker *l, const struct found *found, struct nb_error *error)
{
    struct group g = {.found = found, .agrees = found->last == 0};
    struct nb_point end = {found->last, found->there.sum};
    int rc = nb_replica_settle(l->replica);
    if (rc != 0)
        return nb_error_set(error, rc, "the daemon is stopping");
    nb_publish_add_begin(l, end, true, &g.sql);
    rc = nb_message_scan(l->nodes->engine, NB_KEPT_TRACE, l->which,
                         found->last == 0 ? 1 : found->last, take_entry, &g, error);
    if (rc >= 0 && !g.agrees && g.count > 0 && found->there.position != 0)
        rc = differ(l, found->last, error);
    if (rc >= 0 && (g.count == 0 || !g.agrees))
        rc = nb_error_set(error, NB_CONFLICT,
                          "this node has more of stream %u than the database, which ends at "
                          "%" PRIu64 ", and does not keep what is between: see the page of nodes",
                          l->which, found->last);
    if (rc >= 0)
        rc = put_group(l, &g, error);
    nb_sql_deinit(&g.sql);
    return rc;
}

/* ---- this node ------------------------------------------------------------------------------- */

static void warn(void *user, const struct nb_error *why)
{
    (void)user;
    nb_log(NB_LOG_WARNING, "nodes: %s", why->text);
}

static int make_replica(struct nb_stream_worker *l, uint64_t made, struct nb_error *error)
{
    const struct nb_config *config = l->nodes->config;
    const struct nb_replica_settings settings = {
        .publish = nb_publish,
        .look = nb_stream_worker_look,
        .is_there = nb_stream_worker_is_there,
        .warn = warn,
        .user = l,
        .stream = l->which,
        .queue = l->nodes->queue,
        .message_most = MESSAGE_MOST,
        .seed = nb_message_checksum(nb_string_of(l->nodes->name), nb_string_of(config->data)),
        .patience = config->nodes_patience * UINT64_C(1000000000),
        .same_for = SAME_MILLISECONDS,
        .compare_every = config->nodes_digest_seconds * UINT64_C(1000000000)};
    struct nb_replica *replica = NULL;
    l->made = made; /* the worker publishes from now on */
    int rc = nb_replica_new(l->nodes->engine, &settings, made, &replica, error);
    pthread_mutex_lock(&l->lock);
    l->replica = replica;
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static int outrun(struct nb_stream_worker *l, const struct found *found, uint64_t needs,
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

/* Checks that the stream has the last entry delivered to this node. Returns 1 if entries were put
 * back: check again. */
static int check_end(struct nb_stream_worker *l, const struct found *found, struct nb_error *error)
{
    struct nb_point at = nb_replica_delivered(l->replica);
    atomic_store(&l->is_outrun, false);
    if (found->made != l->made)
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
    if (found->there.position == 0 && at.position <= found->cut)
        return outrun(l, found, at.position, error);
    return found->there.position == at.position && found->there.sum == at.sum
               ? 0
               : differ(l, at.position, error);
}

int nb_stream_find(struct nb_stream_worker *l, struct nb_error *error)
{
    struct found found = {0};
    int rc = 1;
    while (rc == 1 && !atomic_load(&l->nodes->stops)) {
        rc = look(l, &found, error);
        if (rc == 0) /* from now on no change is deleted that this node does not have */
            rc = nb_member_round(l, error);
        if (rc == 0 && l->replica == NULL) {
            rc = make_replica(l, found.made, error);
            rc = rc == 0 ? 1 : rc; /* now this node's position is known */
        } else if (rc == 0) {
            rc = check_end(l, &found, error);
        }
    }
    return rc == 1 ? nb_error_set(error, NB_STOPPING, "the daemon is stopping") : rc;
}
