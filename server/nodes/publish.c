/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes this node's messages into a stream. The worker takes the waiting messages, and one
 * transaction adds them. It locks the row with the next position, so that positions are in the
 * order of commits, and a reader never sees a position before those below it.
 */
#include "core/model/live/messages.h"
#include "core/nodes/replica.h"
#include "server/nodes/stream_worker.h"

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
    "SELECT count(c.id) FILTER (WHERE c.position <= $3) FROM moved LEFT JOIN (given"
    " JOIN bayesd.change c ON c.stream = $1 AND c.id = given.id) ON true GROUP BY last";

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

static void add(void *user, struct nb_string id, struct nb_string message)
{
    nb_publish_add(user, id, nb_message_checksum(id, message), message);
}

int nb_publish_some(struct nb_stream_worker *l, bool *has, struct nb_error *error)
{
    struct nb_sql sql;
    struct nb_sql_rows rows;
    *has = false;
    nb_publish_add_begin(l, l->replica->delivered, false, &sql);
    if (nb_replica_take(l->replica, add, &sql) == 0) {
        nb_sql_deinit(&sql);
        return 0;
    }
    int rc = nb_database_run(l->database, &sql, &rows, error);
    if (rc != 0) /* another node adds one of the ids at the same moment: read it, then try again */
        return rc == NB_EXISTS ? 0 : rc;
    *has = rows.count > 0;
    if (*has)
        nb_replica_sent(l->replica, nb_sql_rows_number(&rows, 0, 0));
    nb_sql_rows_deinit(&rows);
    return *has ? 0 : nb_error_set(error, NB_STOPPING, "stream %u has lost its end", l->which);
}
