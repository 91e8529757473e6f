/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "server/nodes/stream_worker.h"

enum { KEY_FILE_MOST = 256 };

/* ---- configuration --------------------------------------------------------------------------- */

int nb_nodes_read_key(const char *path, unsigned char key[NB_KEY_BYTES], struct nb_error *error)
{
    char bytes[KEY_FILE_MOST];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return nb_error_errno(error, errno, path);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file); /* the file was only read, so nothing is lost */
    struct nb_string text = nb_string_trim((struct nb_string){bytes, length});
    bool good =
        text.length == (size_t)NB_KEY_BYTES * 2 &&
        sodium_hex2bin(key, NB_KEY_BYTES, text.bytes, text.length, NULL, &length, NULL) == 0 &&
        length == NB_KEY_BYTES;
    explicit_bzero(bytes, sizeof bytes);
    return good ? 0
                : nb_error_set(error, NB_INVALID,
                               "%s: a key is 64 hexadecimal digits, as openssl rand -hex 32 prints",
                               path);
}

int nb_nodes_read_follow(const struct nb_config *config, uint64_t *follow, struct nb_error *error)
{
    const char *at = config->nodes_follow;
    *follow = *at == '\0' ? UINT64_MAX >> (NB_STREAMS_MOST - config->nodes_streams) : 0;
    while (*at != '\0') {
        unsigned from = 0, to = 0;
        int length = 0, longer = 0;
        if (sscanf(at, " %2u %n- %2u %n", &from, &length, &to, &longer) == 2)
            length = longer;
        else
            to = from;
        at += length;
        if (length == 0 || from > to || to >= config->nodes_streams || (*at != ',' && *at != '\0'))
            return nb_error_set(error, NB_INVALID,
                                "[nodes] follow: numbers of streams below %" PRIu64
                                ", separated by commas: 0,4-7",
                                config->nodes_streams);
        for (unsigned i = from; i <= to; i++)
            *follow |= UINT64_C(1) << i;
        at += *at == ',';
    }
    return 0;
}

int nb_nodes_conninfo(const struct nb_config *config, unsigned stream, char **conninfo,
                      struct nb_error *error)
{
    char number[8];
    const char *at = config->nodes_databases, *found = NULL;
    int digits = snprintf(number, sizeof number, "%u=", stream);
    for (; *at != '\0'; at += strcspn(at, " "), at += strspn(at, " ")) {
        size_t length = strspn(at, "0123456789");
        if (length == 0 || at[length] != '=' || strtoul(at, NULL, 10) >= config->nodes_streams)
            return nb_error_set(error, NB_INVALID,
                                "[nodes] databases: NUMBER=postgresql://..., where the number is "
                                "that of a stream below %" PRIu64 ", separated by blanks",
                                config->nodes_streams);
        if (strncmp(at, number, (size_t)digits) == 0)
            found = at + digits;
    }
    *conninfo =
        found == NULL ? strdup(config->nodes_database) : strndup(found, strcspn(found, " "));
    return *conninfo == NULL ? nb_error_no_memory(error) : 0;
}

/* ---- the tables ------------------------------------------------------------------------------ */

/* Plain tables, which other servers of PostgreSQL's protocol support, too; some may refuse the last
 * statement. Bodies are not compressed, since they are mostly hashes. */
static const char *const statements[] = {
    "CREATE SCHEMA IF NOT EXISTS bayesd",
    "CREATE TABLE IF NOT EXISTS bayesd.stream (number bigint PRIMARY KEY, last bigint NOT NULL,"
    " cut bigint NOT NULL, made bigint NOT NULL, identity text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS bayesd.change (stream bigint NOT NULL, position bigint NOT NULL,"
    " id text NOT NULL, checksum bigint NOT NULL, added timestamptz NOT NULL DEFAULT now(),"
    " body bytea NOT NULL, PRIMARY KEY (stream, position), UNIQUE (stream, id))",
    "CREATE TABLE IF NOT EXISTS bayesd.member (stream bigint NOT NULL, name text NOT NULL,"
    " url text NOT NULL, applied bigint NOT NULL, compared bigint NOT NULL,"
    " digest bigint NOT NULL, version text NOT NULL, seen timestamptz NOT NULL,"
    " PRIMARY KEY (stream, name))",
    "ALTER TABLE bayesd.change ALTER COLUMN body SET STORAGE EXTERNAL",
};

static int init(struct nb_database *d, unsigned stream, struct nb_error *error)
{
    static const char INSERT[] = "INSERT INTO bayesd.stream (number, last, cut, made, identity)"
                                 " VALUES ($1, 0, 0, $2, '') ON CONFLICT (number) DO NOTHING";
    const struct nb_sql_value values[NB_SQL_VALUES] = {nb_sql_number(stream),
                                                       nb_sql_number(nb_key_random() >> 1 | 1)};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        bool is_needed = i + 1 < sizeof statements / sizeof *statements;
        int rc = nb_database_run(d, statements[i], NULL, NULL, error);
        if (rc != 0 && (is_needed || rc == NB_STOPPING))
            return rc;
    }
    return nb_database_run(d, INSERT, values, NULL, error);
}

/* Connects to the database of each of the streams; then creates the tables (`inits`), or announces
 * that this node joins. */
static int work_on(const struct nb_config *config, uint64_t streams, bool inits,
                   struct nb_error *error)
{
    if (config->nodes_database[0] == '\0')
        return nb_error_set(
            error, NB_INVALID,
            "%s is for several nodes, and the configuration has no [nodes] database",
            inits ? "--nodes-init" : "--join");
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < config->nodes_streams; i++) {
        struct nb_database *d = NULL;
        char *conninfo = NULL;
        if ((streams >> i & 1) == 0)
            continue;
        rc = nb_nodes_conninfo(config, i, &conninfo, error);
        if (rc == 0)
            rc = nb_database_open(conninfo, NULL, &d, error);
        if (rc == 0)
            rc = inits ? init(d, i, error)
                       : nb_member_announce(d, config, i, 0, (struct nb_point){0, 0}, error);
        nb_database_close(&d);
        free(conninfo);
    }
    return rc;
}

int nb_nodes_init(const struct nb_config *config, struct nb_error *error)
{
    int rc = work_on(config, UINT64_MAX, true, error);
    if (rc != 0)
        return rc;
    (void)puts("-- The tables of bayesd are there. A role that may use them, and no more, needs:\n"
               "GRANT USAGE ON SCHEMA bayesd TO bayesd;\n"
               "GRANT SELECT, UPDATE ON bayesd.stream TO bayesd;\n"
               "GRANT SELECT, INSERT, DELETE ON bayesd.change TO bayesd;\n"
               "GRANT SELECT, INSERT, UPDATE ON bayesd.member TO bayesd;");
    return 0;
}

int nb_nodes_announce(const struct nb_config *config, struct nb_error *error)
{
    uint64_t follow = 0;
    int rc = nb_nodes_read_follow(config, &follow, error);
    return rc == 0 ? work_on(config, follow, false, error) : rc;
}
