/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to a PostgreSQL database, and statements on it whose waits are bounded: the only
 * includer of libpq. A connection is for one thread at a time.
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

/* Connects as `conninfo` says, to a server that takes writes unless that says something else. What
 * it does not say of time-outs is set: a server that does not answer is found out in seconds. Later
 * waits end when *stops is set; it is borrowed, and may be NULL. Returns 0, or NB_STOPPING with
 * what the server or the library said. */
int nb_database_open(const char *conninfo, const atomic_bool *stops, struct nb_database **database,
                     struct nb_error *error);
void nb_database_close(struct nb_database **database);

/* A statement and its parameters $1, $2 ...; all else than the text is 0 at first. */
enum { NB_SQL_PARAMETERS = 8 };
struct nb_sql {
    const char *text;
    int count;
    unsigned types[NB_SQL_PARAMETERS];
    uint32_t elements[NB_SQL_PARAMETERS];       /* of an array */
    struct nb_buffer values[NB_SQL_PARAMETERS]; /* as PostgreSQL sends them */
    int code;                                   /* 0 or NB_NO_MEMORY */
};

/* Each adds a parameter: a bigint, a text, or an array with one dimension, which is empty. */
void nb_sql_number(struct nb_sql *sql, uint64_t value);
void nb_sql_text(struct nb_sql *sql, struct nb_string value);
enum nb_sql_type { NB_SQL_TEXT, NB_SQL_BYTES, NB_SQL_NUMBER };
void nb_sql_array(struct nb_sql *sql, enum nb_sql_type type);
/* Adds an element to the array that is the parameter $`which`. */
void nb_sql_add(struct nb_sql *sql, int which, struct nb_string value);
void nb_sql_add_number(struct nb_sql *sql, int which, uint64_t value);
/* Frees the parameters of one that is not run. */
void nb_sql_deinit(struct nb_sql *sql);

/* What a statement gave, owned by the caller. */
struct nb_sql_rows {
    void *result;
    int count;
};
void nb_sql_rows_deinit(struct nb_sql_rows *rows);
/* The value of a column, borrowed; empty where it is NULL. */
struct nb_string nb_sql_rows_bytes(const struct nb_sql_rows *rows, int row, int column);
/* The same of a bigint; 0 where it is NULL. */
uint64_t nb_sql_rows_number(const struct nb_sql_rows *rows, int row, int column);

/* Runs it, and frees its parameters; `rows` may be NULL. Returns 0; NB_EXISTS: somebody else has
 * written the same at the same time, try it again; NB_FORBIDDEN: the database refuses it, also the
 * next time. After NB_STOPPING the connection is of no use any more: whether it was done is not
 * known. */
int nb_database_run(struct nb_database *database, struct nb_sql *sql, struct nb_sql_rows *rows,
                    struct nb_error *error);

/* Waits until a notification comes, `wake` (an eventfd) can be read, or so many milliseconds have
 * passed. Returns 0 or NB_STOPPING. */
int nb_database_wait(struct nb_database *database, int wake, int milliseconds,
                     struct nb_error *error);

#endif
