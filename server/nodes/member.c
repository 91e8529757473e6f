/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/system.h"
#include "core/model/relayed.h"
#include "core/model/state.h"
#include "core/nodes/replica.h"
#include "server/base/log.h"
#include "server/base/version.h"
#include "server/nodes/stream_worker.h"

enum { HOST_MOST = 48, ALIVE_SECONDS = 60, CUT_MOST = 10000 };
static const uint64_t SECOND = UINT64_C(1000000000);

/* Selects only rows such as nb_member_announce writes. Others with the right to write the table may
 * have put anything there: such rows are no members, nobody waits for them, and reading skips them.
 * The clock of a database that takes over may be up to an hour behind. */
#define IS_MEMBER                                                                                  \
    " AND stream BETWEEN 0 AND 63 AND applied >= 0 AND compared >= 0"                              \
    " AND name ~ '^[A-Za-z0-9_-]{1,64}$' AND version ~ '^[A-Za-z0-9.+~_-]{1,31}$'"                 \
    " AND seen < now() + interval '1 hour'"
static_assert(NB_STREAMS_MOST == 64 && NB_MEMBER_NAME_MOST == 64 && NB_MEMBER_VERSION_MOST == 31 &&
                  NB_MEMBER_URL_MOST == 255,
              "as the statements have them");

void nb_member_name(const struct nb_config *config, char name[NB_MEMBER_NAME_MOST + 1])
{
    static const char GOOD[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    char host[HOST_MOST] = "";
    const char *port = strrchr(config->listen, ':');
    (void)gethostname(host, sizeof host - 1); /* on failure the name has only the port */
    if (config->nodes_name[0] != '\0')
        (void)snprintf(name, NB_MEMBER_NAME_MOST + 1, "%s", config->nodes_name);
    else
        (void)snprintf(name, NB_MEMBER_NAME_MOST + 1, "%s-%.8s", host,
                       port == NULL ? "" : port + 1);
    for (char *c = name; *(c += strspn(c, GOOD)) != '\0';)
        *c = '-';
}

int nb_member_announce(struct nb_database *database, const struct nb_config *config,
                       unsigned stream, uint64_t applied, struct nb_point digested,
                       struct nb_error *error)
{
    static const char PUT[] =
        "INSERT INTO bayesd.member (stream, name, url, applied, compared, digest, version, seen)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, now()) ON CONFLICT (stream, name) DO UPDATE"
        " SET url = $3, applied = $4, compared = $5, digest = $6, version = $7, seen = now()";
    char name[NB_MEMBER_NAME_MOST + 1];
    nb_member_name(config, name);
    const struct nb_sql_value values[NB_SQL_VALUES] = {nb_sql_number(stream),
                                                       nb_sql_text(name),
                                                       nb_sql_text(config->nodes_url),
                                                       nb_sql_number(applied),
                                                       nb_sql_number(digested.position),
                                                       nb_sql_number(digested.sum),
                                                       nb_sql_text(NB_PROGRAM_VERSION)};
    return nb_database_run(database, PUT, values, NULL, error);
}

/* ---- reading the members' reports ------------------------------------------------------------ */

static void copy(char *to, size_t size, const struct nb_sql_rows *rows, int row, int column)
{
    struct nb_string text = nb_sql_rows_bytes(rows, row, column);
    (void)snprintf(to, size, "%.*s", (int)text.length, text.bytes);
}

/* Finds a member by name; NULL: there is none. */
static struct nb_member *find(struct nb_member *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static void read_member(struct nb_stream_worker *l, const struct nb_sql_rows *rows, int row,
                        struct nb_member *m)
{
    *m = (struct nb_member){.streams = nb_sql_rows_number(rows, row, 2),
                            .applied = nb_sql_rows_number(rows, row, 3)};
    copy(m->name, sizeof m->name, rows, row, 0);
    copy(m->url, sizeof m->url, rows, row, 1);
    copy(m->version, sizeof m->version, rows, row, 4);
    m->silence = (int64_t)nb_sql_rows_number(rows, row, 5) * 1000000;
    m->is_self = strcmp(m->name, l->nodes->name) == 0;
    /* No lock: only this thread changes the list. */
    const struct nb_member *before = find(l->members, l->member_count, m->name);
    int said = (int)nb_sql_rows_number(rows, row, 6);
    m->same = said <= 1 ? said : said == 2 && before != NULL ? before->same : -1;
    if (m->same == 0 && (before == NULL || before->same != 0))
        nb_log(NB_LOG_ERROR,
               "nodes: the node '%s' has learned something else than this node from the same "
               "changes: keep both stores, start one of both with an empty one, and report it",
               m->name);
}

/* Reads all members in the database, also those of streams that this node does not follow. Digests
 * can be compared only at the same position (3: one of the two is missing); until both have the
 * same position (2), the last comparison holds. */
static int read_all(struct nb_stream_worker *l, struct nb_error *error)
{
    static const char MEMBERS[] =
        "SELECT m.name, max(CASE WHEN octet_length(m.url) <= 255"
        "  AND m.url ~ '^https?://[!-~]+$' THEN m.url ELSE '' END),"
        " sum(1::bigint << m.stream::integer)::bigint, least(9223372036854775807, sum("
        "  CASE WHEN ($2 >> m.stream::integer) & 1 = 1 THEN m.applied ELSE 0 END))::bigint,"
        " max(m.version),"
        " greatest(0, min(extract(epoch FROM now() - m.seen)) * 1000)::bigint,"
        " min(CASE WHEN m.name = $1 THEN 1"
        "  WHEN o.compared IS NULL OR o.compared = 0 OR m.compared = 0 THEN 3"
        "  WHEN o.compared <> m.compared THEN 2 WHEN o.digest = m.digest THEN 1 ELSE 0"
        "  END)::bigint"
        " FROM (SELECT * FROM bayesd.member"
        "  WHERE seen > now() - $3 * interval '1 second'" IS_MEMBER ") m"
        " LEFT JOIN bayesd.member o ON o.stream = m.stream AND o.name = $1"
        " GROUP BY m.name ORDER BY m.name LIMIT $4";
    const struct nb_sql_value values[NB_SQL_VALUES] = {
        nb_sql_text(l->nodes->name), nb_sql_number(l->nodes->follow),
        nb_sql_number(l->nodes->config->nodes_member_seconds), nb_sql_number(NB_MEMBERS_MOST)};
    struct nb_sql_rows rows;
    int rc = nb_database_run(l->database, MEMBERS, values, &rows, error);
    if (rc != 0)
        return rc;
    struct nb_member *list = calloc((size_t)rows.count + 1, sizeof *list), *old = l->members;
    size_t count = (size_t)rows.count;
    for (int i = 0; list != NULL && i < rows.count; i++)
        read_member(l, &rows, i, &list[i]);
    nb_sql_rows_deinit(&rows);
    if (list == NULL)
        return nb_error_no_memory(error);
    pthread_mutex_lock(&l->nodes->lock);
    l->members = list;
    l->member_count = count;
    l->members_read = nb_clock_monotonic();
    pthread_mutex_unlock(&l->nodes->lock);
    free(old);
    return 0;
}

/* ---- deleting old changes -------------------------------------------------------------------- */

/* Deletes from the beginning the changes that all known nodes have and that are old enough. Keeps
 * each node's last applied row, by which the node checks that the stream is still the same. Deletes
 * nothing while no other node is alive whose store a later node could take over. */
static int cut(struct nb_stream_worker *l, struct nb_error *error)
{
    const struct nb_config *config = l->nodes->config;
    static const char CUT[] =
        "WITH bound AS (SELECT s.cut + $5 AS most,"
        "  (SELECT min(applied) FROM bayesd.member WHERE stream = $1"
        "    AND seen > now() - $3 * interval '1 second'" IS_MEMBER ") AS least"
        "  FROM bayesd.stream s WHERE s.number = $1 AND EXISTS (SELECT 1"
        "    FROM bayesd.member WHERE stream = $1 AND name <> $2"
        "    AND seen > now() - $6 * interval '1 second'" IS_MEMBER ")),"
        " young AS (SELECT min(position) AS at FROM bayesd.change, bound WHERE stream = $1"
        "  AND position <= most AND added >= now() - $4 * interval '1 second'),"
        " gone AS (DELETE FROM bayesd.change USING bound, young WHERE stream = $1"
        "  AND position < least AND position <= most AND position < coalesce(at, least)"
        "  RETURNING position)"
        "UPDATE bayesd.stream SET cut = greatest(cut, (SELECT max(position) FROM gone))"
        " WHERE number = $1 AND EXISTS (SELECT 1 FROM gone)";
    const struct nb_sql_value values[NB_SQL_VALUES] = {nb_sql_number(l->which),
                                                       nb_sql_text(l->nodes->name),
                                                       nb_sql_number(config->nodes_member_seconds),
                                                       nb_sql_number(config->nodes_keep_seconds),
                                                       nb_sql_number(CUT_MOST),
                                                       nb_sql_number(ALIVE_SECONDS)};
    int rc = nb_database_run(l->database, CUT, values, NULL, error);
    return rc == NB_EXISTS ? 0 : rc; /* another node deletes them */
}

int nb_member_round(struct nb_stream_worker *l, struct nb_error *error)
{
    struct nb_nodes *n = l->nodes;
    uint64_t now = nb_clock_monotonic();
    const struct nb_replica *r = l->replica;
    if (l->announced != 0 && now - l->announced < SECOND)
        return 0;
    int rc = nb_member_announce(l->database, n->config, l->which, atomic_load(&r->place->applied),
                                r->digested, error);
    if (rc == 0 && l->is_first)
        rc = read_all(l, error);
    if (rc == 0 && n->config->nodes_peers[0] != '\0' && atomic_load(&r->stream) == NB_REPLICA_THERE)
        rc = cut(l, error);
    l->announced = now;
    return rc;
}

/* ---- the members read last ------------------------------------------------------------------- */

/* Merges a node's reports from several databases: its silence is that of the latest report, and it
 * has learned the same if all known comparisons say so. */
static void add(struct nb_member *list, size_t *count, const struct nb_member *one)
{
    struct nb_member *to = find(list, *count, one->name);
    if (to == NULL) {
        list[(*count)++] = *one;
        return;
    }
    to->applied += one->applied;
    to->streams |= one->streams;
    to->silence = one->silence < to->silence ? one->silence : to->silence;
    to->same = to->same == 0 || one->same < 0 ? to->same : one->same;
}

int nb_nodes_members(struct nb_nodes *n, struct nb_member **members, size_t *count,
                     struct nb_error *error)
{
    size_t most = 1;
    *count = 0;
    pthread_mutex_lock(&n->lock);
    for (unsigned i = 0; i < n->worker_count; i++)
        most += n->workers[i].member_count;
    *members = malloc(most * sizeof **members);
    for (unsigned i = 0; *members != NULL && i < n->worker_count; i++)
        for (size_t k = 0; k < n->workers[i].member_count; k++) {
            struct nb_member one = n->workers[i].members[k];
            one.silence += (int64_t)(nb_clock_monotonic() - n->workers[i].members_read);
            add(*members, count, &one);
        }
    pthread_mutex_unlock(&n->lock);
    return *members == NULL ? nb_error_no_memory(error) : 0;
}

int nb_nodes_list_followers(struct nb_nodes *n, struct nb_string model, size_t most,
                            struct nb_buffer *urls)
{
    struct nb_member *members = NULL;
    size_t count;
    unsigned stream = nb_relay_stream(model, n->worker_count);
    int rc = nb_nodes_members(n, &members, &count, NULL);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct nb_member *m = &members[i];
        size_t size = strlen(m->url) + 1;
        bool is_alive = m->silence < (int64_t)(ALIVE_SECONDS * SECOND);
        if (is_alive && !m->is_self && size > 1 && urls->length + size <= most &&
            (m->streams >> stream & 1) != 0)
            rc = nb_buffer_append(urls, m->url, size);
    }
    free(members);
    return rc;
}
