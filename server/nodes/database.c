/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/database.h"

#include <assert.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/platform/poller.h"
#include "core/base/system.h"

enum { COUNT_AT = 12 /* offset of the number of elements in an array */ };

/* ---- parameters and numbers ------------------------------------------------------------------ */

/* An array begins with the number of dimensions, whether it has NULLs, the type of its elements,
 * their number, and the index of the first. */
void nb_sql_add(struct nb_sql_array *a, struct nb_string value)
{
    assert(a->type == NB_SQL_TEXT || a->type == NB_SQL_NUMBER || a->type == NB_SQL_BYTES);
    const uint32_t head[] = {htobe32(1), 0, htobe32(a->type), 0, htobe32(1)};
    uint32_t length = htobe32((uint32_t)value.length), count = htobe32(a->count + 1);
    if (a->count++ == 0)
        a->code |= nb_buffer_append(&a->written, head, sizeof head);
    a->code |= nb_buffer_append(&a->written, &length, sizeof length);
    a->code |= nb_buffer_append(&a->written, value.bytes, value.length);
    if (a->code == 0)
        memcpy(a->written.bytes + COUNT_AT, &count, sizeof count);
}

void nb_sql_add_number(struct nb_sql_array *a, uint64_t value)
{
    uint64_t big = htobe64(value);
    nb_sql_add(a, (struct nb_string){(const char *)&big, sizeof big});
}

struct nb_sql_value nb_sql_array_value(const struct nb_sql_array *a)
{
    unsigned type = a->type == NB_SQL_TEXT ? 1009 : a->type == NB_SQL_BYTES ? 1001 : 1016;
    return (struct nb_sql_value){.type = type, .bytes = nb_buffer_string(&a->written)};
}

uint64_t nb_sql_rows_number(const struct nb_sql_rows *rows, int row, int column)
{
    struct nb_string value = nb_sql_rows_bytes(rows, row, column);
    uint64_t big = 0;
    if (value.length == sizeof big)
        memcpy(&big, value.bytes, sizeof big);
    return be64toh(big);
}

enum {
    LOOK_MILLISECONDS = 200, /* most time until a stop is noticed */
    ANSWER_SECONDS = 12      /* most time for the answer to a statement */
};

struct nb_database {
    PGconn *connection;
    const atomic_bool *stops;
};

/* ---- connecting ------------------------------------------------------------------------------ */

static int fail(struct nb_database *d, struct nb_error *error)
{
    struct nb_string said = nb_string_trim(nb_string_of(PQerrorMessage(d->connection)));
    const char *end = memchr(said.bytes, '\n', said.length);
    return nb_error_set(error, NB_STOPPING, "the database is away: %.*s",
                        (int)(end == NULL ? said.length : (size_t)(end - said.bytes)), said.bytes);
}

/* Server options. The conninfo, which libpq expands last, can override these and the other
 * settings. The server ends transactions that a node leaves open, so a node that is cut off holds a
 * lock only for seconds. */
static const char OPTIONS[] =
    "-c statement_timeout=10000 -c idle_in_transaction_session_timeout=10000 "
    "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 "
    "-c client_min_messages=error";

int nb_database_open(const char *conninfo, const atomic_bool *stops, struct nb_database **database,
                     struct nb_error *error)
{
    /* A server that does not answer is detected by `await`: the node asks all the time. */
    static const char *const names[] = {
        "target_session_attrs", "connect_timeout", "application_name", "options", "dbname", NULL};
    const char *const values[] = {"read-write", "3", "bayesd", OPTIONS, conninfo, NULL};
    struct nb_database *d = calloc(1, sizeof *d);
    if (d != NULL)
        *d = (struct nb_database){PQconnectdbParams(names, values, 1), stops};
    if (d == NULL || d->connection == NULL) {
        free(d);
        return nb_error_no_memory(error);
    }
    if (PQstatus(d->connection) == CONNECTION_OK && PQsetnonblocking(d->connection, 1) == 0) {
        *database = d;
        return 0;
    }
    int rc = fail(d, error);
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

/* ---- rows ------------------------------------------------------------------------------------ */

void nb_sql_rows_deinit(struct nb_sql_rows *rows)
{
    PQclear(rows->result);
    *rows = (struct nb_sql_rows){.result = NULL};
}

struct nb_string nb_sql_rows_bytes(const struct nb_sql_rows *rows, int row, int column)
{
    assert(row >= 0 && row < rows->count && column < PQnfields(rows->result));
    return (struct nb_string){PQgetvalue(rows->result, row, column),
                              (size_t)PQgetlength(rows->result, row, column)};
}

/* ---- statements ------------------------------------------------------------------------------ */

/* Sends pending data, and waits for an answer. PQexec would wait forever for a server that does not
 * answer, and would not notice a stop. */
static int await(struct nb_database *d, struct nb_error *error)
{
    uint64_t until = nb_clock_monotonic() + ANSWER_SECONDS * UINT64_C(1000000000);
    int left = PQflush(d->connection);
    while (left > 0 || PQisBusy(d->connection)) {
        struct pollfd wait = {.fd = PQsocket(d->connection),
                              .events = (short)(left > 0 ? POLLIN | POLLOUT : POLLIN)};
        if (nb_clock_monotonic() > until)
            return nb_error_set(error, NB_STOPPING, "the database does not answer in time");
        if (d->stops != NULL && atomic_load(d->stops))
            return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
        int ready = poll(&wait, 1, LOOK_MILLISECONDS);
        if (ready > 0 && !PQconsumeInput(d->connection))
            return fail(d, error);
        if (left > 0)
            left = PQflush(d->connection);
    }
    return left < 0 ? fail(d, error) : 0;
}

/* Chooses the code by the class of the SQLSTATE: NB_EXISTS for rows that others write at the same
 * time, NB_FORBIDDEN for a refusal, else NB_STOPPING. */
static int code_of(struct nb_database *d, const PGresult *result, struct nb_error *error)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *said = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (state == NULL || said == NULL)
        return fail(d, error);
    const char class[] = {state[0], state[1], '\0'};
    int rc = strcmp(state, "23505") == 0 || strcmp(class, "40") == 0 ? NB_EXISTS
             : strstr("42 0A 3F 22", class) != NULL                  ? NB_FORBIDDEN
                                                                     : NB_STOPPING;
    return nb_error_set(error, rc, "the database refuses it: %s (%s)", said, state);
}

/* Reads the first result, and skips those after it: only after the last one is the statement
 * committed, and the commit may fail. */
static int read_results(struct nb_database *d, struct nb_sql_rows *rows, struct nb_error *error)
{
    int rc, code = 0;
    PGresult *result;
    while ((rc = await(d, code == 0 ? error : NULL)) == 0 &&
           (result = PQgetResult(d->connection)) != NULL) {
        ExecStatusType status = PQresultStatus(result);
        if (code == 0 && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            code = code_of(d, result, error);
        if (code == 0 && rows->result == NULL)
            *rows = (struct nb_sql_rows){result, PQntuples(result)};
        else
            PQclear(result);
    }
    return code != 0 ? code : rc;
}

int nb_database_run(struct nb_database *d, const char *statement,
                    const struct nb_sql_value values[NB_SQL_VALUES], struct nb_sql_rows *rows,
                    struct nb_error *error)
{
    const char *bytes[NB_SQL_VALUES];
    unsigned types[NB_SQL_VALUES];
    int lengths[NB_SQL_VALUES], formats[NB_SQL_VALUES], count = 0;
    struct nb_sql_rows found = {.result = NULL};
    for (; values != NULL && count < NB_SQL_VALUES && values[count].type != 0; count++) {
        const struct nb_sql_value *v = &values[count];
        bool is_number = v->bytes.bytes == NULL;
        types[count] = v->type;
        bytes[count] = is_number ? (const char *)&v->number : v->bytes.bytes;
        lengths[count] = is_number ? (int)sizeof v->number : (int)v->bytes.length;
        formats[count] = 1;
    }
    int rc = PQsendQueryParams(d->connection, statement, count, types, bytes, lengths, formats, 1)
                 ? read_results(d, &found, error)
                 : fail(d, error);
    if (rc == 0 && rows != NULL)
        *rows = found;
    else
        nb_sql_rows_deinit(&found);
    return rc;
}

static bool take_notifications(struct nb_database *d)
{
    bool has_come = false;
    for (PGnotify *one; (one = PQnotifies(d->connection)) != NULL; has_come = true)
        PQfreemem(one);
    return has_come;
}

int nb_database_wait(struct nb_database *d, int wake, int milliseconds, struct nb_error *error)
{
    struct pollfd waits[2] = {{.fd = PQsocket(d->connection), .events = POLLIN},
                              {.fd = wake, .events = POLLIN}};
    if (take_notifications(d) || poll(waits, 2, milliseconds) <= 0) /* notified, or nothing new */
        return 0;
    nb_bell_clear(wake);
    if (waits[0].revents != 0 && !PQconsumeInput(d->connection))
        return fail(d, error);
    (void)take_notifications(d);
    return 0;
}
