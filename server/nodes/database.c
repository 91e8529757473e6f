/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/database.h"

#include <endian.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"

enum {
    BIGINT = 20,
    TEXT = 25,
    BYTEA = 17,
    BIGINT_ARRAY = 1016,
    TEXT_ARRAY = 1009,
    BYTEA_ARRAY = 1001
};

/* ---- parameters ------------------------------------------------------------------------------ */

static void put32(struct nb_sql *s, int parameter, uint32_t value)
{
    uint32_t big = htobe32(value);
    if (nb_buffer_append(&s->values[parameter], &big, sizeof big) != 0)
        s->code = NB_NO_MEMORY;
}

static void put(struct nb_sql *s, int parameter, const void *bytes, size_t length)
{
    if (nb_buffer_append(&s->values[parameter], bytes, length) != 0)
        s->code = NB_NO_MEMORY;
}

void nb_sql_number(struct nb_sql *s, uint64_t value)
{
    uint64_t big = htobe64(value);
    s->types[s->count] = BIGINT;
    put(s, s->count++, &big, sizeof big);
}

void nb_sql_text(struct nb_sql *s, struct nb_string value)
{
    s->types[s->count] = TEXT;
    put(s, s->count++, value.bytes, value.length);
}

/* How many dimensions, whether there are NULLs, the type of elements, how many, and the index of
 * the first. */
void nb_sql_array(struct nb_sql *s, enum nb_sql_type type, size_t count)
{
    static const unsigned elements[] = {TEXT, BYTEA, BIGINT};
    static const unsigned arrays[] = {TEXT_ARRAY, BYTEA_ARRAY, BIGINT_ARRAY};
    int at = s->count++;
    s->types[at] = arrays[type];
    put32(s, at, 1);
    put32(s, at, 0);
    put32(s, at, elements[type]);
    put32(s, at, (uint32_t)count);
    put32(s, at, 1);
}

void nb_sql_element(struct nb_sql *s, struct nb_string value)
{
    put32(s, s->count - 1, (uint32_t)value.length);
    put(s, s->count - 1, value.bytes, value.length);
}

void nb_sql_element_number(struct nb_sql *s, uint64_t value)
{
    uint64_t big = htobe64(value);
    nb_sql_element(s, (struct nb_string){(const char *)&big, sizeof big});
}

void nb_sql_deinit(struct nb_sql *s)
{
    for (int i = 0; i < s->count; i++)
        nb_buffer_deinit(&s->values[i]);
    s->count = 0;
}

#ifdef NB_HAS_LIBPQ

#include <libpq-fe.h>

static const uint64_t ANSWER_NANOSECONDS = UINT64_C(12000000000); /* of a statement */
enum {
    LOOK_MILLISECONDS = 200, /* before a stop is seen */
    OPTIONS_MOST = 64
};

struct nb_database {
    PGconn *connection;
};

/* ---- connecting ------------------------------------------------------------------------------ */

/* What holds unless the conninfo says something else. A server ends what a node does not: a lock of
 * one that was cut off is held for seconds. */
static const char *const defaults[][2] = {
    {"target_session_attrs", "read-write"},
    {"connect_timeout", "3"},
    {"application_name", "bayesd"},
    {"keepalives_idle", "5"},
    {"keepalives_interval", "2"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "10000"},
    {"options", "-c statement_timeout=10000 -c idle_in_transaction_session_timeout=10000 "
                "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 "
                "-c client_min_messages=error"},
};

static int fail(PGconn *connection, const char *what, struct nb_error *error)
{
    struct nb_string said = nb_string_trim(nb_string_of(PQerrorMessage(connection)));
    const char *end = memchr(said.bytes, '\n', said.length);
    return nb_error_set(error, NB_STOPPING, "%s: %.*s", what,
                        (int)(end == NULL ? said.length : (size_t)(end - said.bytes)), said.bytes);
}

static void be_silent(void *user, const PGresult *notice)
{
    (void)user;
    (void)notice;
}

int nb_database_open(const char *conninfo, struct nb_database **database, struct nb_error *error)
{
    const char *names[OPTIONS_MOST], *values[OPTIONS_MOST];
    size_t count = 0;
    for (; count < sizeof defaults / sizeof *defaults; count++) {
        names[count] = defaults[count][0];
        values[count] = defaults[count][1];
    }
    names[count] = "dbname"; /* is expanded: what it says wins over what is before */
    values[count++] = conninfo;
    names[count] = values[count] = NULL;
    struct nb_database *d = calloc(1, sizeof *d);
    PGconn *connection = d == NULL ? NULL : PQconnectdbParams(names, values, 1);
    if (connection == NULL) {
        free(d);
        return nb_error_no_memory(error);
    }
    d->connection = connection;
    (void)PQsetNoticeReceiver(connection, be_silent, NULL);
    if (PQstatus(connection) == CONNECTION_OK && PQsetnonblocking(connection, 1) == 0) {
        *database = d;
        return 0;
    }
    int rc = fail(connection, "the database is away", error);
    nb_database_close(&d);
    return rc;
}

void nb_database_close(struct nb_database **database)
{
    if (*database == NULL)
        return;
    PQfinish((*database)->connection);
    free(*database);
    *database = NULL;
}

/* ---- statements ------------------------------------------------------------------------------ */

void nb_sql_rows_deinit(struct nb_sql_rows *rows)
{
    PQclear(rows->result);
    *rows = (struct nb_sql_rows){.result = NULL};
}

uint64_t nb_sql_rows_number(const struct nb_sql_rows *rows, int row, int column)
{
    uint64_t big = 0;
    if (PQgetlength(rows->result, row, column) != sizeof big)
        return 0;
    memcpy(&big, PQgetvalue(rows->result, row, column), sizeof big);
    return be64toh(big);
}

struct nb_string nb_sql_rows_bytes(const struct nb_sql_rows *rows, int row, int column)
{
    return (struct nb_string){PQgetvalue(rows->result, row, column),
                              (size_t)PQgetlength(rows->result, row, column)};
}

/* Sends what is to be sent, and waits for an answer. */
static int await(PGconn *connection, const atomic_bool *stops, struct nb_error *error)
{
    uint64_t until = nb_clock_monotonic() + ANSWER_NANOSECONDS;
    int left = PQflush(connection);
    while (left > 0 || PQisBusy(connection)) {
        struct pollfd wait = {.fd = PQsocket(connection),
                              .events = (short)(left > 0 ? POLLIN | POLLOUT : POLLIN)};
        if (nb_clock_monotonic() > until)
            return nb_error_set(error, NB_STOPPING, "the database does not answer in time");
        if (stops != NULL && atomic_load(stops))
            return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
        int ready = poll(&wait, 1, LOOK_MILLISECONDS);
        if (ready > 0 && !PQconsumeInput(connection))
            return fail(connection, "the database is away", error);
        if (left > 0)
            left = PQflush(connection);
    }
    return left < 0 ? fail(connection, "the database is away", error) : 0;
}

/* By the class of the SQLSTATE: what was written at the same time, or what is refused. */
static int code_of(PGconn *connection, const PGresult *result, struct nb_error *error)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *said = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (state == NULL || said == NULL)
        return fail(connection, "the database is away", error);
    bool is_twice = strcmp(state, "23505") == 0 || strncmp(state, "40", 2) == 0;
    bool is_refused = strncmp(state, "42", 2) == 0 || strncmp(state, "0A", 2) == 0 ||
                      strncmp(state, "3F", 2) == 0 || strncmp(state, "22", 2) == 0;
    return nb_error_set(error,
                        is_twice     ? NB_EXISTS
                        : is_refused ? NB_FORBIDDEN
                                     : NB_STOPPING,
                        "the database refuses it: %s (%s)", said, state);
}

/* Reads all that the statement gives: one result, and its end. */
static int read_result(PGconn *connection, const atomic_bool *stops, struct nb_sql_rows *rows,
                       struct nb_error *error)
{
    int rc = await(connection, stops, error);
    PGresult *result = rc == 0 ? PQgetResult(connection) : NULL;
    ExecStatusType status = PQresultStatus(result);
    if (rc == 0 && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        rc = code_of(connection, result, error);
    if (rc == 0 && rows != NULL)
        *rows = (struct nb_sql_rows){.result = result,
                                     .count = PQntuples(result),
                                     .changed = strtoull(PQcmdTuples(result), NULL, 10)};
    else
        PQclear(result);
    while (rc != NB_STOPPING) {
        struct nb_error late;
        int waited = await(connection, stops, &late);
        result = waited == 0 ? PQgetResult(connection) : NULL;
        if (waited != 0 && rc == 0)
            rc = nb_error_set(error, waited, "%s", late.text);
        if (result == NULL)
            break;
        /* It is committed behind its first result: that may fail. */
        if (rc == 0 && PQresultStatus(result) == PGRES_FATAL_ERROR)
            rc = code_of(connection, result, error);
        PQclear(result);
    }
    if (rc != 0 && rows != NULL)
        nb_sql_rows_deinit(rows);
    return rc;
}

int nb_database_run(struct nb_database *d, struct nb_sql *s, const atomic_bool *stops,
                    struct nb_sql_rows *rows, struct nb_error *error)
{
    const char *values[NB_SQL_PARAMETERS];
    int lengths[NB_SQL_PARAMETERS], formats[NB_SQL_PARAMETERS];
    if (s->code != 0)
        return nb_error_no_memory(error);
    for (int i = 0; i < s->count; i++) {
        values[i] = s->values[i].bytes != NULL ? s->values[i].bytes : "";
        lengths[i] = (int)s->values[i].length;
        formats[i] = 1;
    }
    if (rows != NULL)
        *rows = (struct nb_sql_rows){.result = NULL};
    if (!PQsendQueryParams(d->connection, s->text, s->count, s->types, values, lengths, formats, 1))
        return fail(d->connection, "the database is away", error);
    return read_result(d->connection, stops, rows, error);
}

int nb_database_wait(struct nb_database *d, int wake, int milliseconds, struct nb_error *error)
{
    struct pollfd waits[2] = {{.fd = PQsocket(d->connection), .events = POLLIN},
                              {.fd = wake, .events = POLLIN}};
    uint64_t count;
    if (poll(waits, 2, milliseconds) <= 0)
        return 0;
    if (waits[1].revents != 0 && read(wake, &count, sizeof count) < 0)
        count = 0; /* somebody else has read it */
    if (waits[0].revents != 0 && !PQconsumeInput(d->connection))
        return fail(d->connection, "the database is away", error);
    for (PGnotify *one; (one = PQnotifies(d->connection)) != NULL;)
        PQfreemem(one);
    return 0;
}

#else

int nb_database_open(const char *conninfo, struct nb_database **database, struct nb_error *error)
{
    (void)conninfo;
    (void)database;
    return nb_error_set(error, NB_UNSUPPORTED,
                        "[nodes]: this bayesd was built without libpq (libpq-dev)");
}

void nb_database_close(struct nb_database **database)
{
    *database = NULL;
}

void nb_sql_rows_deinit(struct nb_sql_rows *rows)
{
    (void)rows;
}

uint64_t nb_sql_rows_number(const struct nb_sql_rows *rows, int row, int column)
{
    (void)rows;
    return (uint64_t)row + (uint64_t)column;
}

struct nb_string nb_sql_rows_bytes(const struct nb_sql_rows *rows, int row, int column)
{
    (void)rows;
    (void)row;
    (void)column;
    return (struct nb_string){"", 0};
}

int nb_database_run(struct nb_database *database, struct nb_sql *sql, const atomic_bool *stops,
                    struct nb_sql_rows *rows, struct nb_error *error)
{
    (void)database;
    (void)sql;
    (void)stops;
    (void)rows;
    return nb_error_set(error, NB_UNSUPPORTED, "this bayesd was built without libpq");
}

int nb_database_wait(struct nb_database *database, int wake, int milliseconds,
                     struct nb_error *error)
{
    (void)database;
    (void)wake;
    (void)milliseconds;
    return nb_error_set(error, NB_UNSUPPORTED, "this bayesd was built without libpq");
}

#endif
