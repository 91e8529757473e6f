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
#include "core/archive/repair/restore.h"
#include "core/base/platform/platform.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "core/engine/opening.h"
#include "core/nodes/replica.h"
#include "server/base/log.h"
#include "server/configure.h"
#include "server/nodes/nodes.h"
#include "server/options.h"

enum { WORDS_MOST = 16 };
static const char FOLDER[] = "join";
static const uint64_t RETRY = UINT64_C(5000000000);

/* ---- processes ------------------------------------------------------------------------------- */

/* Runs a program; its standard output is `out` (-1: that of this process). Returns 0 or an errno.
 */
static int spawn(const char *path, const char *const words[WORDS_MOST], int out, pid_t *process)
{
    char *vector[WORDS_MOST]; /* the same words: the prototype of posix_spawn is older than const */
    posix_spawn_file_actions_t files;
    memcpy(vector, words, sizeof vector);
    (void)posix_spawn_file_actions_init(&files); /* never fails */
    int rc = out < 0 ? 0 : posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (rc == 0)
        rc = posix_spawnp(process, path, &files, NULL, vector, environ);
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

/* Finds bayesc beside bayesd; if it is not there, $PATH decides. */
static void find_client(char path[NB_FOLDER_PATH])
{
    size_t length = nb_platform_program_path(path, NB_FOLDER_PATH);
    if (length > 0)
        path[length - 1] = 'c';
    if (length == 0 || access(path, X_OK) != 0)
        (void)snprintf(path, NB_FOLDER_PATH, "bayesc");
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
    char path[NB_FOLDER_PATH];
    find_client(path);
    return spawn(path, words, out, process);
}

static void print_difference(void *user, const char *line)
{
    (void)fprintf(user, "%s\n", line);
}

/* Fetches the store of the node at the URL `peer` into the directory of the settings. */
static int fetch_store(const struct nb_engine_settings *settings, const struct nb_config *config,
                       const char *peer, struct nb_error *error)
{
    struct nb_node_wanted wanted = {0};
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

/* Puts a fetched store in force if there is one, and sets *replaced to whether there was. First
 * hands over the changes that only the old store has: one that is missing or cannot be opened has
 * none. */
static int put_in_force(const struct nb_config *config, bool *replaced, struct nb_error *error)
{
    struct nb_engine_settings settings;
    struct nb_engine *from = NULL, *to = NULL;
    struct nb_error why;
    unsigned char key[NB_KEY_BYTES];
    char fresh[NB_FOLDER_PATH], made[NB_FOLDER_PATH];
    uint64_t count = 0;
    *replaced = false;
    nb_folder_join(fresh, config->data, FOLDER);
    nb_folder_join(made, config->data, "join/data.mdb");
    if (access(made, F_OK) != 0)
        return 0;
    nb_engine_settings_of(config, &settings);
    int rc = nb_engine_settings_share(config, key, &settings, error);
    if (rc == 0 && nb_engine_open_existing(&settings, &from, &why) == 0) {
        settings.directory = fresh;
        rc = nb_engine_open(&settings, &to, error); /* the hand-over writes to it */
        if (rc == 0)
            rc = nb_hand_over(from, to, &count, error);
        if (to != NULL)
            nb_engine_close(&to);
        nb_engine_close(&from);
    }
    if (rc == 0 && count > 0)
        nb_log(NB_LOG_WARNING,
               "nodes: the old store has %llu changes that were queued or that the database had "
               "lost: they are published again",
               (unsigned long long)count);
    return rc == 0 ? nb_engine_replace(config->data, fresh, replaced, error) : rc;
}

int nb_join(const struct nb_config *config, const char *peer, struct nb_error *error)
{
    struct nb_engine_settings settings;
    unsigned char key[NB_KEY_BYTES];
    char folder[NB_FOLDER_PATH];
    bool has_store = false;
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* a daemon that starts this blocks its signals */
    (void)signal(SIGPIPE, SIG_DFL);
    nb_engine_settings_of(config, &settings);
    int rc = nb_folder_check_path(config->data, error);
    if (rc == 0)
        rc = nb_engine_settings_share(config, key, &settings, error);
    if (rc != 0)
        return rc;
    nb_folder_join(folder, config->data, "data.mdb");
    if (access(folder, F_OK) == 0) {
        has_store = true;
        nb_folder_join(folder, config->data, FOLDER);
        settings.directory = folder;
    }
    rc = fetch_store(&settings, config, peer, error);
    if (rc == 0 && has_store)
        rc = put_in_force(config, &has_store, error);
    if (rc == 0)
        (void)printf("%s: has what %s has; every count is what the documents say\n", config->data,
                     peer);
    return rc;
}

/* ---- a daemon -------------------------------------------------------------------------------- */

int nb_rejoin_begin(struct nb_rejoin *r, const struct nb_config *config, struct nb_error *error)
{
    static const char *const names[] = {"data.mdb.old", "journal.old"};
    char path[NB_FOLDER_PATH];
    bool has_old = false;
    *r = (struct nb_rejoin){.config = config, .peer = config->nodes_peers};
    if (config->nodes_database[0] == '\0')
        return 0;
    int rc = nb_folder_check_path(config->data, error);
    if (rc == 0)
        rc = put_in_force(config, &has_old, error);
    if (rc != 0 || !has_old)
        return rc;
    nb_log(NB_LOG_INFO, "nodes: the store of another node is in force");
    /* The new store was verified, and has the changes that only the old one had. */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        nb_folder_join(path, config->data, names[i]);
        (void)unlink(path); /* if it fails, the file only takes room */
    }
    return 0;
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
    char folder[NB_FOLDER_PATH];
    char *peer = choose_peer(r);
    int rc = peer == NULL ? ENOMEM : 0;
    nb_folder_join(folder, r->config->data, FOLDER);
    const char *words[WORDS_MOST] = {"bayesd", "--data", folder, "--join", peer};
    if (options->config != NULL) {
        words[5] = "--config";
        words[6] = options->config;
    }
    if (rc == 0) {
        nb_log(NB_LOG_INFO, "nodes: fetching the store of %s", peer);
        rc = spawn(nb_platform_same_program(), words, -1, &r->child);
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
