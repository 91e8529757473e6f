/* SPDX-License-Identifier: Apache-2.0 */
#include "server/join.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/config.h"
#include "core/archive/repair/repair.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "core/engine/opening.h"
#include "core/nodes/replica.h"
#include "server/base/log.h"
#include "server/configure.h"
#include "server/nodes/nodes.h"
#include "server/options.h"

enum { PATH_ROOM = 4096, WORDS_MOST = 16 };
static const char FOLDER[] = "join";
static const uint64_t RETRY = UINT64_C(5000000000);

static int path_of(char path[PATH_ROOM], const char *directory, const char *name,
                   struct nb_error *error)
{
    return snprintf(path, PATH_ROOM, "%s/%s", directory, name) < PATH_ROOM
               ? 0
               : nb_error_set(error, NB_UNUSABLE, "the data directory's path is too long");
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Runs a program with default signals; its standard output is `out` (-1: that of this process).
 * Returns 0 or an errno. */
static int spawn(const char *path, const char *const words[WORDS_MOST], int out, pid_t *process)
{
    char *vector[WORDS_MOST]; /* the same words: the prototype of posix_spawn is older than const */
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, pipe;
    memcpy(vector, words, sizeof vector);
    sigemptyset(&none);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    /* These fail for invalid values only, if at all. */
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &pipe);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (rc == 0 && out >= 0)
        rc = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (rc == 0)
        rc = posix_spawnp(process, path, &files, &attributes, vector, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    return rc;
}

/* Waits until the process has ended. Returns whether it succeeded. */
static bool reap(pid_t process)
{
    int status = 0;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- --join ---------------------------------------------------------------------------------- */

/* Finds bayesc beside this program; if it is not there, $PATH decides. */
static void find_client(char path[PATH_ROOM])
{
    static const char NAME[] = "bayesc";
    ssize_t length = readlink("/proc/self/exe", path, PATH_ROOM - sizeof NAME);
    path[length > 0 ? length : 0] = '\0';
    char *end = strrchr(path, '/');
    if (end != NULL)
        memcpy(end + 1, NAME, sizeof NAME);
    if (end == NULL || access(path, X_OK) != 0)
        memcpy(path, NAME, sizeof NAME);
}

/* Starts bayesc backup, which writes into `out`. */
static int spawn_client(const struct nb_config *config, const char *peer, int out, pid_t *process)
{
    const char *const options[][2] = {{"--url", peer},
                                      {"--token-file", config->nodes_peer_token_file},
                                      {"--ca-file", config->nodes_tls_ca},
                                      {"--cert", config->nodes_tls_certificate},
                                      {"--key", config->nodes_tls_key}};
    const char *words[WORDS_MOST] = {"bayesc", "backup"};
    size_t count = 2;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i][1][0] != '\0') {
            words[count++] = options[i][0];
            words[count++] = options[i][1];
        }
    words[count] = "-";
    char path[PATH_ROOM];
    find_client(path);
    return spawn(path, words, out, process);
}

static void print_difference(void *user, const char *line)
{
    (void)fprintf(user, "%s\n", line);
}

/* Fetches the store of the node at the URL `peer` into the directory of the settings. Sets
 * *position to the store's position in the streams. */
static int fetch_store(const struct nb_engine_settings *settings, const struct nb_config *config,
                       const char *peer, uint64_t *position, struct nb_error *error)
{
    struct nb_node_wanted wanted = {0, position};
    struct nb_error why = {0};
    int bytes[2];
    pid_t process;
    int rc = nb_nodes_announce(config, error); /* the others now keep the changes for this node */
    if (rc == 0)
        rc = nb_nodes_read_follow(config, &wanted.streams, error);
    if (rc == 0 && pipe2(bytes, O_CLOEXEC) != 0)
        rc = nb_error_errno(error, errno, "a pipe");
    if (rc != 0)
        return rc;
    int failed = spawn_client(config, peer, bytes[1], &process);
    close(bytes[1]);
    if (failed != 0) {
        close(bytes[0]);
        return nb_error_set(error, NB_NOT_FOUND,
                            "bayesc, which fetches the store, cannot be run (%s): install it",
                            strerror(failed));
    }
    rc = nb_engine_restore_node(settings, bytes[0], peer, &wanted, print_difference, stderr, &why);
    close(bytes[0]); /* if bayesc still writes, it ends soon */
    if (!reap(process) && (rc == NB_CORRUPT || rc == NB_INVALID)) /* the backup was cut off */
        rc = nb_error_set(&why, NB_IO, "bayesc could not fetch its store, and has said why");
    return rc == 0 ? 0 : nb_error_set(error, rc, "joining by %s: %s", peer, why.text);
}

/* Hands over the changes that only the old store has. A store that is missing or cannot be opened
 * has none. */
static int hand_over(const struct nb_config *config, const char *fresh, struct nb_error *error)
{
    struct nb_engine_settings settings;
    struct nb_engine *from = NULL, *to = NULL;
    struct nb_error why;
    unsigned char key[NB_KEY_BYTES];
    uint64_t queued = 0, lost = 0;
    nb_engine_settings_of(config, &settings);
    int rc = nb_engine_settings_share(config, key, &settings, error);
    if (rc != 0 || nb_engine_open_existing(&settings, &from, &why) != 0)
        return rc;
    settings.directory = fresh;
    rc = nb_engine_open(&settings, &to, error); /* the hand-over writes to it */
    if (rc == 0)
        rc = nb_hand_over(from, to, &queued, &lost, error);
    if (rc == 0 && queued + lost > 0)
        nb_log(NB_LOG_WARNING,
               "nodes: the old store has %llu changes that the database had lost, and %llu that "
               "were queued: they are published again",
               (unsigned long long)lost, (unsigned long long)queued);
    if (to != NULL)
        nb_engine_close(&to);
    nb_engine_close(&from);
    return rc;
}

/* Puts a fetched store in force if there is one, and sets *replaced to whether there was. */
static int put_in_force(const struct nb_config *config, bool *replaced, struct nb_error *error)
{
    char fresh[PATH_ROOM], made[PATH_ROOM];
    *replaced = false;
    int rc = path_of(fresh, config->data, FOLDER, error);
    if (rc == 0)
        rc = path_of(made, fresh, "data.mdb", error);
    if (rc != 0 || access(made, F_OK) != 0)
        return rc;
    rc = hand_over(config, fresh, error);
    return rc == 0 ? nb_engine_replace(config->data, fresh, replaced, error) : rc;
}

int nb_join(const struct nb_config *config, const char *peer, struct nb_error *error)
{
    struct nb_engine_settings settings;
    unsigned char key[NB_KEY_BYTES];
    char folder[PATH_ROOM];
    uint64_t position = 0;
    bool has_store = false;
    nb_engine_settings_of(config, &settings);
    int rc = nb_engine_settings_share(config, key, &settings, error);
    if (rc == 0)
        rc = path_of(folder, config->data, "data.mdb", error);
    if (rc == 0 && (has_store = access(folder, F_OK) == 0)) {
        rc = path_of(folder, config->data, FOLDER, error);
        settings.directory = folder;
    }
    if (rc == 0)
        rc = fetch_store(&settings, config, peer, &position, error);
    if (rc == 0 && has_store)
        rc = put_in_force(config, &has_store, error);
    if (rc == 0)
        (void)printf("%s: has what %s has, up to change %llu; every count is what the documents "
                     "say\n",
                     config->data, peer, (unsigned long long)position);
    return rc;
}

/* ---- a daemon -------------------------------------------------------------------------------- */

int nb_rejoin_begin(struct nb_rejoin *r, const struct nb_config *config, struct nb_error *error)
{
    *r = (struct nb_rejoin){.config = config, .peer = config->nodes_peers};
    int rc = config->nodes_database[0] == '\0' ? 0 : put_in_force(config, &r->has_old, error);
    if (rc == 0 && r->has_old)
        nb_log(NB_LOG_INFO, "nodes: the store of another node is in force");
    return rc;
}

/* Removes the old store. To be called when the new store follows the stream and so has all
 * changes. */
static void remove_old(struct nb_rejoin *r)
{
    static const char *const names[] = {"data.mdb.old", "journal.old"};
    char path[PATH_ROOM];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (path_of(path, r->config->data, names[i], NULL) == 0)
            (void)unlink(path); /* if it fails, the file only takes room */
    r->has_old = false;
}

/* Returns the peer whose turn it is, which the caller frees; NULL: out of memory. */
static char *choose_peer(struct nb_rejoin *r)
{
    static const char BETWEEN[] = ", ";
    r->peer += strspn(r->peer, BETWEEN);
    if (*r->peer == '\0')
        r->peer = r->config->nodes_peers + strspn(r->config->nodes_peers, BETWEEN);
    size_t length = strcspn(r->peer, BETWEEN);
    r->peer += length;
    return strndup(r->peer - length, length);
}

static void fetch(struct nb_rejoin *r, const struct nb_options *options)
{
    char folder[PATH_ROOM];
    char *peer = choose_peer(r);
    int rc = peer == NULL || path_of(folder, r->config->data, FOLDER, NULL) != 0 ? ENOMEM : 0;
    const char *words[WORDS_MOST] = {"bayesd", "--data", folder, "--join", peer};
    if (options->config != NULL) {
        words[5] = "--config";
        words[6] = options->config;
    }
    if (rc == 0) {
        nb_log(NB_LOG_INFO, "nodes: fetching the store of %s", peer);
        rc = spawn("/proc/self/exe", words, -1, &r->child);
    }
    if (rc != 0) {
        nb_log(NB_LOG_WARNING, "nodes: the store of another node cannot be fetched: %s",
               strerror(rc));
        r->child = 0;
    }
    r->next = nb_clock_monotonic() + RETRY;
    free(peer);
}

bool nb_rejoin_look(struct nb_rejoin *r, struct nb_nodes *nodes, const struct nb_options *options)
{
    struct nb_nodes_state state;
    int status = 0;
    if (r->child != 0) {
        pid_t ended = waitpid(r->child, &status, WNOHANG);
        if (ended == 0)
            return false;
        r->child = 0;
        r->next = nb_clock_monotonic() + RETRY;
        return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    nb_nodes_state(nodes, NB_NODES_ALL, &state);
    if (r->has_old && state.connected)
        remove_old(r);
    if (state.is_outrun && r->config->nodes_peers[0] != '\0' && nb_clock_monotonic() >= r->next)
        fetch(r, options);
    return false;
}

void nb_rejoin_stop(struct nb_rejoin *r)
{
    if (r->child == 0)
        return;
    (void)kill(r->child, SIGKILL); /* the next process removes the files that it leaves */
    (void)reap(r->child);
    r->child = 0;
}
