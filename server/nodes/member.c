/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/member.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/model/live/state.h"
#include "core/nodes/operation.h"
#include "core/nodes/replica.h"
#include "server/base/log.h"
#include "server/base/version.h"
#include "server/nodes/nodes_state.h"

enum { HOST_MOST = 48, ALIVE_SECONDS = 60, CUT_MOST = 10000, VERSIONS_SIZE = 96 };
static const uint64_t ROUND = UINT64_C(1000000000); /* nanoseconds */

/* What nb_member_announce writes. Whoever else may write the table may have put anything there:
 * that is no member, nobody waits for it, and it costs no more than being passed over. The clock of
 * a database that takes over may be behind, by an hour. */
#define IS_MEMBER                                                                                  \
    " AND stream BETWEEN 0 AND 63 AND applied >= 0 AND compared >= 0"                              \
    " AND name ~ '^[A-Za-z0-9_-]{1,64}$' AND octet_length(versions) < 96"                          \
    " AND versions ~ '^[0-9]{1,9} [0-9]{1,9} [1-9][0-9]{0,8}( |$)'"                                \
    " AND seen < now() + interval '1 hour'"
static_assert(NB_STREAMS_MOST == 64 && NB_MEMBER_NAME_MOST == 64, "as IS_MEMBER has them");

void nb_member_name(const struct nb_config *config, char name[NB_MEMBER_NAME_MOST + 1])
{
    char host[HOST_MOST] = "", text[NB_MEMBER_NAME_MOST + 1];
    const char *port = strrchr(config->listen, ':');
    (void)gethostname(host, sizeof host - 1); /* without it the port is the name */
    (void)snprintf(text, sizeof text, "%s-%.8s", host, port == NULL ? "" : port + 1);
    const char *from = config->nodes_name[0] == '\0' ? text : config->nodes_name;
    size_t length = strnlen(from, NB_MEMBER_NAME_MOST);
    for (size_t i = 0; i < length; i++) {
        char c = from[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        name[i] = c == '_' || good ? c : '-';
    }
    name[length] = '\0';
}

int nb_member_announce(struct nb_database *database, const struct nb_config *config,
                       unsigned stream, uint64_t applied, struct nb_point digested,
                       struct nb_error *error)
{
    struct nb_sql sql = {
        .text = "INSERT INTO bayesd.member"
                " (stream, name, url, applied, compared, digest, versions, seen)"
                " VALUES ($1, $2, $3, $4, $5, $6, $7, now()) ON CONFLICT (stream, name) DO UPDATE"
                " SET url = $3, applied = $4, compared = $5, digest = $6, versions = $7,"
                " seen = now()"};
    char name[NB_MEMBER_NAME_MOST + 1], versions[VERSIONS_SIZE];
    nb_member_name(config, name);
    (void)snprintf(versions, sizeof versions, "%d %d %d %s", NB_TOKENIZER_VERSION, NB_APPLY_VERSION,
                   (int)NB_OPERATION_KINDS, NB_PROGRAM_VERSION);
    nb_sql_number(&sql, stream);
    nb_sql_text(&sql, nb_string_of(name));
    nb_sql_text(&sql, nb_string_of(config->nodes_url));
    nb_sql_number(&sql, applied);
    nb_sql_number(&sql, digested.position);
    nb_sql_number(&sql, digested.sum);
    nb_sql_text(&sql, nb_string_of(versions));
    int rc = nb_database_run(database, &sql, NULL, NULL, error);
    nb_sql_deinit(&sql);
    return rc;
}

/* ---- the others ------------------------------------------------------------------------------ */

/* What others have written is shown to people: printable ASCII that fits, or nothing. */
static void read_text(struct nb_string text, char *to, size_t most)
{
    bool good = text.length <= most;
    for (size_t i = 0; good && i < text.length; i++)
        good = text.bytes[i] > ' ' && text.bytes[i] <= '~';
    to[0] = '\0';
    if (!good || text.length == 0)
        return;
    memcpy(to, text.bytes, text.length);
    to[text.length] = '\0';
}

static void read_versions(struct nb_string text, struct nb_known_member *m)
{
    char copy[VERSIONS_SIZE], program[NB_MEMBER_VERSION_MOST + 1] = "";
    (void)snprintf(copy, sizeof copy, "%.*s", (int)text.length, text.bytes);
    (void)sscanf(copy, "%u %u %u %31s", &m->tokenizer, &m->apply, &m->kinds, program);
    read_text(nb_string_of(program), m->version, NB_MEMBER_VERSION_MOST);
}

static void read_member(const struct nb_sql_rows *rows, int row, struct nb_known_member *m)
{
    uint64_t stream = nb_sql_rows_number(rows, row, 7) % NB_STREAMS_MOST;
    *m = (struct nb_known_member){.same = -1, .streams = UINT64_C(1) << stream};
    read_text(nb_sql_rows_bytes(rows, row, 0), m->name, NB_MEMBER_NAME_MOST);
    read_text(nb_sql_rows_bytes(rows, row, 1), m->url, NB_MEMBER_URL_MOST);
    if (strncmp(m->url, "http://", 7) != 0 && strncmp(m->url, "https://", 8) != 0)
        m->url[0] = '\0';
    m->applied = nb_sql_rows_number(rows, row, 2);
    m->digested =
        (struct nb_point){nb_sql_rows_number(rows, row, 3), nb_sql_rows_number(rows, row, 4)};
    read_versions(nb_sql_rows_bytes(rows, row, 5), m);
    m->silence = (int64_t)nb_sql_rows_number(rows, row, 6) * 1000000;
    m->silence = m->silence < 0 ? 0 : m->silence;
}

/* Digests can be compared at one position only; until then holds what was found before. */
static void compare(const struct nb_lane *l, struct nb_point own, struct nb_known_member *m)
{
    int before = -1;
    for (size_t i = 0; i < l->member_count; i++) /* this thread alone sets the list */
        if (strcmp(l->members[i].name, m->name) == 0)
            before = l->members[i].same;
    m->is_self = strcmp(m->name, l->nodes->name) == 0;
    if (m->is_self)
        m->same = 1;
    else if (own.position == 0 || m->digested.position == 0)
        m->same = -1;
    else
        m->same = own.position != m->digested.position ? before : own.sum == m->digested.sum;
    if (m->same == 0 && before != 0)
        nb_log(NB_LOG_ERROR,
               "nodes: the node '%s' has learned something else than this node from the same "
               "changes: keep both stores, start one of both with an empty one, and report it",
               m->name);
}

static void keep(struct nb_lane *l, struct nb_known_member *list, size_t count)
{
    const struct nb_known_member *oldest = NULL;
    for (size_t i = 0; i < count; i++)
        if (oldest == NULL || list[i].kinds < oldest->kinds)
            oldest = &list[i];
    pthread_mutex_lock(&l->lock);
    struct nb_known_member *old = l->members;
    l->members = list;
    l->member_count = count;
    l->members_read = nb_clock_monotonic();
    l->kinds = oldest == NULL ? NB_OPERATION_KINDS : oldest->kinds;
    if (oldest != NULL)
        memcpy(l->oldest, oldest->name, sizeof l->oldest);
    pthread_mutex_unlock(&l->lock);
    free(old);
}

static int read_all(struct nb_lane *l, struct nb_point own, struct nb_error *error)
{
    struct nb_sql sql = {
        .text = "SELECT name, CASE WHEN octet_length(url) <= $5 THEN url ELSE '' END, applied,"
                " compared, digest, versions, (extract(epoch FROM now() - seen) * 1000)::bigint,"
                " stream FROM bayesd.member"
                " WHERE (stream = $1 OR ($4 >> (stream & 63)::integer) & 1 = 0)"
                " AND seen > now() - $2 * interval '1 second'" IS_MEMBER
                " ORDER BY stream <> $1, stream, name LIMIT $3"};
    uint64_t follow = l->nodes->follow;
    bool is_first = (follow & (~follow + 1)) >> l->which == 1; /* it reads those of the streams */

    struct nb_sql_rows rows;
    nb_sql_number(&sql, l->which);
    nb_sql_number(&sql, l->nodes->config->nodes_member_seconds);
    nb_sql_number(&sql, NB_MEMBERS_MOST);
    nb_sql_number(&sql, is_first ? follow : UINT64_MAX); /* that this node does not follow, too */
    nb_sql_number(&sql, NB_MEMBER_URL_MOST);
    int rc = nb_database_run(l->database, &sql, &l->nodes->stops, &rows, error);
    nb_sql_deinit(&sql);
    if (rc != 0)
        return rc;
    struct nb_known_member *list = malloc(((size_t)rows.count + 1) * sizeof *list);
    size_t count = 0;
    for (; list != NULL && count < (size_t)rows.count; count++) {
        read_member(&rows, (int)count, &list[count]);
        if (list[count].streams >> l->which == 1)
            compare(l, own, &list[count]);
        else
            list[count].applied = 0;
    }
    nb_sql_rows_deinit(&rows);
    if (list == NULL)
        return nb_error_no_memory(error);
    keep(l, list, count);
    return 0;
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* Deletes what all known nodes have and what is old enough, from the beginning on. The row that a
 * node has made last stays: by that it sees whether the stream is still the same. Nothing goes
 * while nobody else is alive of whom a node that comes later could take the store. */
static int cut(struct nb_lane *l, struct nb_error *error)
{
    const struct nb_config *config = l->nodes->config;
    struct nb_sql sql = {
        .text = "WITH bound AS (SELECT s.cut + $5 AS most,"
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
                " WHERE number = $1 AND EXISTS (SELECT 1 FROM gone)"};
    nb_sql_number(&sql, l->which);
    nb_sql_text(&sql, nb_string_of(l->nodes->name));
    nb_sql_number(&sql, config->nodes_member_seconds);
    nb_sql_number(&sql, config->nodes_keep_seconds);
    nb_sql_number(&sql, CUT_MOST);
    nb_sql_number(&sql, ALIVE_SECONDS);
    int rc = nb_database_run(l->database, &sql, &l->nodes->stops, NULL, error);
    nb_sql_deinit(&sql);
    return rc == NB_EXISTS ? 0 : rc; /* another node does it */
}

int nb_member_round(struct nb_lane *l, struct nb_error *error)
{
    uint64_t now = nb_clock_monotonic();
    struct nb_point digested = {0, 0};
    if (l->announced != 0 && now - l->announced < ROUND)
        return 0;
    if (l->replica != NULL)
        digested = nb_replica_digested(l->replica);
    uint64_t applied = atomic_load(&l->nodes->engine->standing.places[l->which].applied);
    int rc = nb_member_announce(l->database, l->nodes->config, l->which, applied, digested, error);
    if (rc == 0)
        rc = read_all(l, digested, error);
    if (rc == 0 && l->nodes->config->nodes_peers[0] != '\0' && atomic_load(&l->is_following))
        rc = cut(l, error);
    l->announced = now;
    return rc;
}
