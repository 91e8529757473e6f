/* SPDX-License-Identifier: Apache-2.0 */
#include "server/join.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/config.h"
#include "core/archive/repair/repair.h"
#include "core/base/string.h"
#include "server/nodes/schema.h"

enum { PATH_ROOM = 4096, WORDS_MOST = 16, SAID_MOST = 512 };

/* bayesc at work. */
struct fetch {
    pid_t process;
    int bytes, said; /* what it writes to standard output and standard error */
};

/* The program beside this one; without a directory, one of $PATH. */
static void find_client(char path[PATH_ROOM])
{
    static const char NAME[] = "bayesc";
    ssize_t length = readlink("/proc/self/exe", path, PATH_ROOM - sizeof NAME);
    char *end = NULL;
    if (length > 0) {
        path[length] = '\0';
        end = strrchr(path, '/');
    }
    if (end != NULL)
        memcpy(end + 1, NAME, sizeof NAME);
    if (end == NULL || access(path, X_OK) != 0)
        memcpy(path, NAME, sizeof NAME);
}

static size_t add_option(const char **words, size_t count, const char *name, const char *value)
{
    assert(count + 2 < WORDS_MOST);
    if (value[0] == '\0')
        return count;
    words[count] = name;
    words[count + 1] = value;
    return count + 2;
}

static int spawn(const struct nb_config *config, const char *peer, int bytes, int said,
                 pid_t *process)
{
    char path[PATH_ROOM];
    const char *words[WORDS_MOST] = {"bayesc", "backup"};
    char *vector[WORDS_MOST]; /* the same: the prototype is older than const */
    posix_spawn_file_actions_t files;
    size_t count = add_option(words, 2, "--url", peer);
    find_client(path);
    count = add_option(words, count, "--token-file", config->nodes_peer_token_file);
    count = add_option(words, count, "--ca-file", config->nodes_tls_ca);
    count = add_option(words, count, "--cert", config->nodes_tls_certificate);
    count = add_option(words, count, "--key", config->nodes_tls_key);
    words[count] = "-";
    int rc = posix_spawn_file_actions_init(&files);
    if (rc != 0)
        return rc;
    rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&files, bytes, STDOUT_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&files, said, STDERR_FILENO);
    memcpy(vector, words, sizeof vector);
    if (rc == 0)
        rc = posix_spawnp(process, path, &files, NULL, vector, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    return rc;
}

static int begin(const struct nb_config *config, const char *peer, struct fetch *f,
                 struct nb_error *error)
{
    int bytes[2], said[2];
    if (pipe2(bytes, O_CLOEXEC) != 0)
        return nb_error_errno(error, errno, "a pipe");
    if (pipe2(said, O_CLOEXEC) != 0) {
        int why = errno;
        close(bytes[0]);
        close(bytes[1]);
        return nb_error_errno(error, why, "a pipe");
    }
    int rc = spawn(config, peer, bytes[1], said[1], &f->process);
    close(bytes[1]);
    close(said[1]);
    f->bytes = bytes[0];
    f->said = said[0];
    if (rc == 0)
        return 0;
    close(f->bytes);
    close(f->said);
    return nb_error_set(error, NB_NOT_FOUND,
                        "bayesc, which fetches the store, cannot be run (%s): install it",
                        strerror(rc));
}

/* The last line that it wrote, without its name. */
static struct nb_string last_line(const char *said, size_t length)
{
    static const char NAME[] = "bayesc: ";
    struct nb_string text = nb_string_trim((struct nb_string){said, length});
    for (size_t i = text.length; i > 0; i--)
        if (text.bytes[i - 1] == '\n') {
            text = nb_string_from(text, i);
            break;
        }
    if (text.length >= sizeof NAME - 1 && memcmp(text.bytes, NAME, sizeof NAME - 1) == 0)
        text = nb_string_from(text, sizeof NAME - 1);
    return text;
}

/* Waits for bayesc. `rc` is what reading came to: when the bytes were no whole backup, bayesc may
 * know better why. */
static int end(struct fetch *f, int rc, struct nb_error *error)
{
    char said[SAID_MOST];
    size_t length = 0;
    ssize_t more;
    int status = 0;
    close(f->bytes); /* it ends soon, if it writes still */
    while (length < sizeof said &&
           ((more = read(f->said, said + length, sizeof said - length)) > 0 ||
            (more < 0 && errno == EINTR)))
        length += more > 0 ? (size_t)more : 0;
    close(f->said);
    while (waitpid(f->process, &status, 0) < 0 && errno == EINTR) {
    }
    struct nb_string why = last_line(said, length);
    if ((rc != NB_CORRUPT && rc != NB_INVALID) || !WIFEXITED(status) || WEXITSTATUS(status) == 0 ||
        why.length == 0)
        return rc;
    return nb_error_set(error, NB_IO, "%.*s", (int)why.length, why.bytes);
}

static void print_difference(void *user, const char *line)
{
    (void)fprintf(user, "%s\n", line);
}

int nb_join(const struct nb_engine_settings *settings, const struct nb_config *config,
            const char *peer, uint64_t *position, struct nb_error *error)
{
    struct nb_node_wanted wanted = {0, position};
    struct fetch f;
    struct nb_error why = {0};
    int rc = nb_nodes_announce(config, error); /* from now on nothing is cut */
    if (rc == 0)
        rc = nb_nodes_read_follow(config, &wanted.streams, error);
    if (rc == 0)
        rc = begin(config, peer, &f, error);
    if (rc != 0)
        return rc;
    rc = nb_engine_restore_node(settings, f.bytes, peer, &wanted, print_difference, stderr, &why);
    rc = end(&f, rc, &why);
    return rc == 0 ? 0 : nb_error_set(error, rc, "joining by %s: %s", peer, why.text);
}
