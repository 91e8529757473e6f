/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to a PostgreSQL database, and statements on it with bounded waits. Only this module
 * includes libpq. A connection belongs to one thread at a time.
 */
#ifndef NB_SERVER_NODES_DATABASE_H
#define NB_SERVER_NODES_DATABASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"

struct nb_database;

/* Connects as `conninfo` says, by default to a server that takes writes. Sets time-outs that
 * `conninfo` does not give, so that a server that does not answer is detected in seconds. Later
 * waits end when *stops is set; `stops` is borrowed, and may be NULL. Returns 0, or NB_STOPPING
 * with the message of the server or the library. */
int nb_database_open(const char *conninfo, const atomic_bool *stops, struct nb_database **database,
                     struct nb_error *error);
void nb_database_close(struct nb_database **database);

/* A statement and its parameters $1, $2 ...; all members but the text are 0 at first. */
enum { NB_SQL_PARAMETERS = 8 };
struct nb_sql {
    const char *text;
    int count;
    unsigned types[NB_SQL_PARAMETERS];
    uint32_t elements[NB_SQL_PARAMETERS];       /* of an array */
    struct nb_buffer values[NB_SQL_PARAMETERS]; /* as PostgreSQL sends them */
    int code;                                   /* 0 or NB_NO_MEMORY */
};

/* Each adds a parameter: a bigint, a text, or an empty array with one dimension. */
void nb_sql_number(struct nb_sql *sql, uint64_t value);
void nb_sql_text(struct nb_sql *sql, struct nb_string value);
enum nb_sql_type { NB_SQL_TEXT, NB_SQL_BYTES, NB_SQL_NUMBER };
void nb_sql_array(struct nb_sql *sql, enum nb_sql_type type);
/* Each adds an element to the array in the parameter $`which`. */
void nb_sql_add(struct nb_sql *sql, int which, struct nb_string value);
void nb_sql_add_number(struct nb_sql *sql, int which, uint64_t value);
/* Frees the parameters of a statement that is not run. */
void nb_sql_deinit(struct nb_sql *sql);

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

/* Runs a statement, and frees its parameters; `rows` may be NULL. Returns 0; NB_EXISTS: somebody
 * else has written the same rows at the same time, try again; NB_FORBIDDEN: the database refuses
 * the statement, and will refuse it again; NB_STOPPING: the connection is unusable, and it is not
 * known whether the statement took effect. */
int nb_database_run(struct nb_database *database, struct nb_sql *sql, struct nb_sql_rows *rows,
                    struct nb_error *error);

/* Waits until a notification comes, `wake` (an eventfd) can be read, or `milliseconds` have passed.
 * Returns 0 or NB_STOPPING. */
int nb_database_wait(struct nb_database *database, int wake, int milliseconds,
                     struct nb_error *error);

#endif
