/* SPDX-License-Identifier: Apache-2.0 */
#include "server/rejoin.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/config.h"
#include "core/archive/repair/repair.h"
#include "core/base/clock.h"
#include "core/engine/engine.h"
#include "core/engine/opening.h"
#include "core/nodes/handover.h"
#include "server/base/log.h"
#include "server/engine_settings.h"
#include "server/nodes/nodes.h"
#include "server/options.h"

enum { PATH_ROOM = 4096 };
static const char FOLDER[] = "join";
static const uint64_t RETRY = UINT64_C(5000000000);

static int join_path(char path[PATH_ROOM], const char *directory, const char *name,
                     struct nb_error *error)
{
    int length = snprintf(path, PATH_ROOM, "%s/%s", directory, name);
    return length < PATH_ROOM
               ? 0
               : nb_error_set(error, NB_UNUSABLE, "the data directory's path is too long");
}

/* What the old store alone has. One that cannot be opened, or is not there, has nothing. */
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
    rc = nb_engine_open(&settings, &to, error); /* it writes */
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

int nb_rejoin_put(const struct nb_config *config, bool *replaced, struct nb_error *error)
{
    char fresh[PATH_ROOM], made[PATH_ROOM];
    *replaced = false;
    int rc = join_path(fresh, config->data, FOLDER, error);
    if (rc == 0)
        rc = join_path(made, fresh, "data.mdb", error);
    if (rc != 0 || access(made, F_OK) != 0)
        return rc;
    rc = hand_over(config, fresh, error);
    return rc == 0 ? nb_engine_replace(config->data, fresh, replaced, error) : rc;
}

int nb_rejoin_begin(struct nb_rejoin *r, const struct nb_config *config, struct nb_error *error)
{
    *r = (struct nb_rejoin){.config = config};
    int rc = config->nodes_database[0] == '\0' ? 0 : nb_rejoin_put(config, &r->has_old, error);
    if (rc == 0 && r->has_old)
        nb_log(NB_LOG_INFO, "nodes: the store of another node is in force");
    return rc;
}

/* The old store has nothing that the new one lacks, which follows the stream by now. */
static void remove_old(struct nb_rejoin *r)
{
    static const char *const names[] = {"data.mdb.old", "journal.old"};
    char path[PATH_ROOM];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (join_path(path, r->config->data, names[i], NULL) == 0)
            (void)unlink(path); /* it takes room, and no harm comes of it */
    r->has_old = false;
}

/* ---- the process that fetches ---------------------------------------------------------------- */

/* The peer whose turn it is, cut out of `list`. */
static const char *choose_peer(char *list, size_t turn)
{
    size_t count = 0;
    char *rest = list;
    for (const char *at = list; *at != '\0'; at += strcspn(at, ", "), at += strspn(at, ", "))
        count++;
    char *one = strtok_r(rest, ", ", &rest);
    for (size_t i = 0; count > 0 && i < turn % count && one != NULL; i++)
        one = strtok_r(rest, ", ", &rest);
    return one;
}

/* Signals as a program has them that nobody has set up. */
static int plain_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, pipe;
    sigemptyset(&none);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    int rc = posix_spawnattr_setsigmask(attributes, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attributes, &pipe);
    if (rc == 0)
        rc = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return rc;
}

static int spawn(struct nb_rejoin *r, const struct nb_options *options, const char *folder,
                 const char *peer)
{
    const char *words[] = {"bayesd", "--data", folder, "--join", peer, NULL, NULL, NULL};
    char *vector[sizeof words / sizeof *words]; /* the same: the prototype is older than const */
    posix_spawnattr_t attributes;
    if (options->config != NULL) {
        words[5] = "--config";
        words[6] = options->config;
    }
    memcpy(vector, words, sizeof vector);
    int rc = posix_spawnattr_init(&attributes);
    if (rc != 0)
        return rc;
    rc = plain_signals(&attributes);
    if (rc == 0)
        rc = posix_spawn(&r->child, "/proc/self/exe", NULL, &attributes, vector, environ);
    (void)posix_spawnattr_destroy(&attributes);
    return rc;
}

static void fetch(struct nb_rejoin *r, const struct nb_options *options)
{
    char folder[PATH_ROOM];
    char *list = strdup(r->config->nodes_peers);
    const char *peer = list != NULL ? choose_peer(list, r->tries) : NULL;
    int rc = ENOMEM;
    r->child = 0;
    if (peer != NULL && join_path(folder, r->config->data, FOLDER, NULL) == 0) {
        nb_log(NB_LOG_INFO, "nodes: fetching the store of %s", peer);
        rc = spawn(r, options, folder, peer);
    }
    if (rc != 0) {
        nb_log(NB_LOG_WARNING, "nodes: the store of another node cannot be fetched: %s",
               strerror(rc));
        r->child = 0;
    }
    r->tries++;
    r->next = nb_clock_monotonic() + RETRY;
    free(list);
}

/* Whether the process has ended with success. */
static bool has_fetched(struct nb_rejoin *r)
{
    int status = 0;
    pid_t ended = waitpid(r->child, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR))
        return false;
    r->child = 0;
    r->next = nb_clock_monotonic() + RETRY;
    return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool nb_rejoin_look(struct nb_rejoin *r, struct nb_nodes *nodes, const struct nb_options *options)
{
    struct nb_nodes_state state;
    if (r->child != 0)
        return has_fetched(r);
    nb_nodes_state(nodes, &state);
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
    (void)kill(r->child, SIGKILL); /* what it leaves is cleared by the next */
    while (waitpid(r->child, NULL, 0) < 0 && errno == EINTR) {
    }
    r->child = 0;
}
