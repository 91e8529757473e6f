/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to a PostgreSQL database, and statements on it with bounded waits. Only this module
 * includes libpq. A connection belongs to one thread at a time.
 */
#ifndef NB_SERVER_NODES_DATABASE_H
#define NB_SERVER_NODES_DATABASE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/platform/byte_order.h"

struct nb_database;

/* Connects as `conninfo` says, by default to a server that takes writes. Sets time-outs that
 * `conninfo` does not give, so that a server that does not answer is detected in seconds. Later
 * waits end when *stops is set; `stops` is borrowed, and may be NULL. Returns 0, or NB_STOPPING
 * with the message of the server or the library. */
int nb_database_open(const char *conninfo, const atomic_bool *stops, struct nb_database **database,
                     struct nb_error *error);
void nb_database_close(struct nb_database **database);

enum nb_sql_type { NB_SQL_BYTES = 17, NB_SQL_NUMBER = 20, NB_SQL_TEXT = 25 }; /* their OIDs */
/* A parameter of a statement: a bigint, a text or an array. `bytes` is borrowed. */
struct nb_sql_value {
    unsigned type;   /* OID of the type, the same on all servers of the protocol; 0: no value */
    uint64_t number; /* big-endian, as PostgreSQL sends it */
    struct nb_string bytes;
};
static inline struct nb_sql_value nb_sql_number(uint64_t value)
{
    return (struct nb_sql_value){.type = NB_SQL_NUMBER, .number = htobe64(value)};
}
static inline struct nb_sql_value nb_sql_text(const char *value)
{
    return (struct nb_sql_value){.type = NB_SQL_TEXT, .bytes = nb_string_of(value)};
}

/* An array with at least one element; all members but the type are 0 at first. The caller frees
 * `written`. */
struct nb_sql_array {
    enum nb_sql_type type;
    uint32_t count;
    int code; /* 0, or NB_NO_MEMORY if any call failed */
    struct nb_buffer written;
};
void nb_sql_add(struct nb_sql_array *array, struct nb_string value);
void nb_sql_add_number(struct nb_sql_array *array, uint64_t value);
struct nb_sql_value nb_sql_array_value(const struct nb_sql_array *array);

/* The result of a statement, owned by the caller. */
struct nb_sql_rows {
    void *result;
    int count;
};
void nb_sql_rows_deinit(struct nb_sql_rows *rows);
/* Returns the value of a column, borrowed; empty where it is NULL. */
struct nb_string nb_sql_rows_bytes(const struct nb_sql_rows *rows, int row, int column);
/* Returns the value of a bigint column; 0 where it is NULL. */
uint64_t nb_sql_rows_number(const struct nb_sql_rows *rows, int row, int column);

/* Runs a statement with parameters $1, $2 ... (NULL: none); `rows` may be NULL. Returns 0;
 * NB_EXISTS: another client has written the same rows at the same time, try again; NB_FORBIDDEN:
 * the database refuses the statement, and will refuse it again; NB_STOPPING: the connection is
 * unusable, and it is unknown whether the statement took effect. */
enum { NB_SQL_VALUES = 8 };
int nb_database_run(struct nb_database *database, const char *statement,
                    const struct nb_sql_value values[NB_SQL_VALUES], struct nb_sql_rows *rows,
                    struct nb_error *error);

/* Waits until a notification comes, the bell `wake` rings, or `milliseconds` have passed.
 * Returns 0 or NB_STOPPING. */
int nb_database_wait(struct nb_database *database, int wake, int milliseconds,
                     struct nb_error *error);

#endif
