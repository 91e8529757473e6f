/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes this node one of several that share what they learn through tables in a PostgreSQL
 * database: connects, publishes, follows, and reports its state. Any thread, except where a
 * function says otherwise.
 */
#ifndef NB_SERVER_NODES_NODES_H
#define NB_SERVER_NODES_NODES_H

#include "core/base/key.h"
#include "server/http/request.h"

struct nb_buffer;
struct nb_config;
struct nb_emitter;
struct nb_engine;
struct nb_nodes;

/* ---- running (node.c) ------------------------------------------------------------------------ */

/* Begins to connect to the other nodes, in threads of its own, without waiting. The engine was
 * opened with the setting `shared`; `config` is borrowed. Without [nodes] *nodes is NULL;
 * NB_CONFLICT then: the store is that of one of several nodes, and would never be the same as
 * theirs again if it were changed without them. Main thread. */
int nb_nodes_start(struct nb_engine *engine, const struct nb_config *config,
                   struct nb_nodes **nodes, struct nb_error *error);
/* Leaves the other nodes. No client may be waiting for a change any more. Main thread. */
void nb_nodes_stop(struct nb_nodes **nodes);

/* For struct nb_server: whether this node has caught up with the others once (until then it does
 * not answer), and whether it follows the stream of the model with this name. */
bool nb_nodes_have_caught_up(struct nb_nodes *nodes);
bool nb_nodes_follow(struct nb_nodes *nodes, struct nb_string name);

struct nb_nodes_state {
    unsigned streams; /* number of all streams */
    bool follows;
    bool connected; /* to the database, and the node has reached the ends of the streams */
    bool is_outrun; /* the stream begins after this node's position: the node needs another store */
    bool is_refused; /* the node must not follow; `reason` says why */
    char reason[NB_ERROR_TEXT];
    uint64_t applied, behind;
    uint64_t lag_nanoseconds;      /* since this node last had all of a stream; 0: it has all */
    uint64_t put_back;             /* changes that the database had lost and this node restored */
    uint64_t queued, queued_bytes; /* changes that wait for the database, and their bytes */
    uint64_t refused; /* changes of any node's queue that failed when they were published */
};
/* Gets the state of one stream, or of all that the node follows: sums, and the worst of each. */
enum { NB_NODES_ALL = -1 };
void nb_nodes_state(struct nb_nodes *nodes, int which, struct nb_nodes_state *state);

/* ---- the other nodes (member.c) -------------------------------------------------------------- */

enum {
    NB_MEMBER_NAME_MOST = 64,
    NB_MEMBER_URL_MOST = 255,
    NB_MEMBER_VERSION_MOST = 31,
    NB_MEMBERS_MOST = 1000 /* most members in a database */
};

/* A node's report about itself, in the table `member`. */
struct nb_member {
    char name[NB_MEMBER_NAME_MOST + 1];
    char url[NB_MEMBER_URL_MOST + 1];         /* "": none given */
    char version[NB_MEMBER_VERSION_MOST + 1]; /* of the program */
    uint64_t applied; /* sum of the member's positions in the streams that this node follows */
    uint64_t streams; /* streams that the member follows: a bit for each */
    bool is_self;
    int same; /* 1: the member has learned the same as this node, 0: it has not, -1: unknown */
    int64_t silence; /* nanoseconds since the member's last report */
};
/* Returns all members as they were read last; the caller frees *members. Returns 0 or NB_NO_MEMORY.
 */
int nb_nodes_members(struct nb_nodes *nodes, struct nb_member **members, size_t *count,
                     struct nb_error *error);
/* For struct nb_server: lists URLs of nodes that have the model and have reported lately; each ends
 * with a NUL, all together have at most `most` bytes. */
int nb_nodes_list_followers(struct nb_nodes *nodes, struct nb_string model, size_t most,
                            struct nb_buffer *urls);

/* ---- configuration and tables (schema.c); main thread ---------------------------------------- */

/* Reads the key that all nodes share: 64 hexadecimal digits, with optional white space around them.
 * Returns 0, NB_INVALID, or the code of a file that cannot be read. */
int nb_nodes_read_key(const char *path, unsigned char key[NB_KEY_BYTES], struct nb_error *error);
/* Reads [nodes] follow: a bit for each stream. Returns 0 or NB_INVALID. */
int nb_nodes_read_follow(const struct nb_config *config, uint64_t *follow, struct nb_error *error);
/* Sets *conninfo to the database of a stream; the caller frees it. Returns 0, NB_INVALID or
 * NB_NO_MEMORY. */
int nb_nodes_conninfo(const struct nb_config *config, unsigned stream, char **conninfo,
                      struct nb_error *error);

/* Creates the tables that do not exist, and prints the rights that a role needs to use them.
 * Returns 0 or a code. */
int nb_nodes_init(const struct nb_config *config, struct nb_error *error);
/* Announces that this node joins, or joins anew: no change is deleted until the node has arrived.
 * Returns 0 or a code. */
int nb_nodes_announce(const struct nb_config *config, struct nb_error *error);

/* ---- HTTP (nodes_route.c) -------------------------------------------------------------------- */

nb_handler nb_route_digest; /* GET /v1/state/digest: what the node has learned */
nb_handler nb_route_nodes;  /* GET /v1/nodes: the members that this node knows of */
/* Emits the member "nodes" of an object. */
void nb_emit_nodes_state(struct nb_emitter *e, struct nb_nodes *nodes);
/* Appends metrics. Returns 0 or NB_NO_MEMORY. */
int nb_nodes_metrics(struct nb_nodes *nodes, struct nb_buffer *out);

#endif
