/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesd-milter: connects a mail server, which speaks the milter protocol, with bayesd, which
 * speaks HTTP.
 *
 * It has two processes, since libmilter stops at SIGHUP, which cannot be changed. The first process
 * receives the signals of users and reports the state of the service to systemd. The second one
 * runs libmilter. The first one sends it SIGUSR1 to read the options again, and SIGTERM, for which
 * libmilter itself waits, to stop. The second one sends SIGUSR1 when it is ready.
 */
#include <errno.h>
#include <libmilter/mfapi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "core/base/platform/platform.h"
#include "server/base/log.h"
#include "server/base/systemd.h"
#include "server/base/version.h"
#include "server/milter/callbacks.h"
#include "server/milter/milter_settings.h"
#include "server/milter/milter_socket.h"

enum {
    EXIT_COMMAND_LINE = 2,
    /* Bytes of a packet that libmilter takes. Pieces of a body have 65,536, its own limit; Postfix
     * sends a header field whole, up to its header_size_limit, by default 102,400. */
    PACKET_MOST = 256 * 1024,
    KNOCKS = 500, /* most connections that are made to wake libmilter for its stop */
    KNOCK_MILLISECONDS = 10
};

/* The command line, for reading it again. */
static struct {
    int argc;
    char **argv;
} given;

/* Waits for one of the signals, which are blocked, and returns its number. */
static int next_signal(const sigset_t *signals)
{
    int number;
    do
        number = sigwaitinfo(signals, NULL);
    while (number < 0 && errno == EINTR);
    return number;
}

/* ---- the process that serves ----------------------------------------------------------------- */

static pid_t first_process;
static atomic_bool is_ending;

static void tell_ready(void)
{
    if (getppid() == first_process) /* the first process may have ended */
        (void)kill(first_process, SIGUSR1);
}

/* Reports when libmilter begins to serve, then reads the options again at each SIGUSR1. `user`: the
 * options of the start. */
static void *be_ready(void *user)
{
    const struct nb_milter_options *first = user;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    if (nb_milter_socket_await(first->socket, &is_ending)) {
        /* Tests and scripts wait for this line, so it does not depend on the level of the log. */
        (void)fprintf(stderr, "bayesd-milter: ready on %s\n", first->socket);
        tell_ready();
    }
    while (next_signal(&signals) == SIGUSR1 && !is_ending) {
        nb_milter_settings_reload(given.argc, given.argv, first);
        tell_ready();
    }
    return NULL;
}

static int open_socket(const struct nb_milter_options *options, struct nb_error *error)
{
    /* libmilter reports failures to syslog(3) only. */
    openlog("bayesd-milter", LOG_PID | (getenv("JOURNAL_STREAM") == NULL ? LOG_PERROR : 0),
            LOG_MAIL);
    (void)smfi_setmaxdatasize(PACKET_MOST); /* returns the old size */
    if (nb_milter_register() != 0)
        return nb_error_no_memory(error);
    return nb_milter_socket_open(options->socket, options->socket_mode, options->socket_group,
                                 error);
}

/* Returns whether all connections have ended. */
static bool finish(const struct nb_milter_options *options)
{
    nb_log(NB_LOG_INFO, "stopping");
    nb_milter_socket_remove(options->socket);
    struct nb_milter_settings *settings = nb_milter_settings_take();
    bool is_over = nb_listener_finish(settings->options.target.timeout);
    nb_milter_settings_release(&settings);
    return is_over;
}

/* Serves until SIGTERM comes. */
static int serve(struct nb_milter_options *options, struct nb_error *error)
{
    const struct nb_listener_settings settings = {.socket = options->socket,
                                                  .connections = options->max_connections};
    pthread_t helper;
    int rc = open_socket(options, error);
    if (rc != 0)
        return rc;
    rc = pthread_create(&helper, NULL, be_ready, options);
    if (rc != 0) {
        nb_milter_socket_remove(options->socket);
        return nb_error_errno(error, rc, "a thread");
    }
    rc = nb_listener_run(&settings, error);
    if (rc != 0)
        nb_log(NB_LOG_ERROR, "%s", error->text);
    if (!finish(options) || rc != 0)
        _exit(rc == 0 ? EXIT_SUCCESS
                      : EXIT_FAILURE); /* threads still use memory that a return would free */
    is_ending = true;
    /* The helper waits for this signal, which is blocked and so ends no thread.
     * NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread) */
    (void)pthread_kill(helper, SIGUSR1);
    (void)pthread_join(helper, NULL);
    return 0;
}

static int serve_with_settings(struct nb_milter_options *options, struct nb_error *error)
{
    struct nb_milter_settings *settings = NULL;
    int rc = nb_call_setup(error);
    if (rc != 0)
        return rc;
    rc = nb_milter_settings_new(options, &settings, error);
    if (rc == 0) {
        nb_milter_settings_publish(settings);
        settings = nb_milter_settings_take(); /* the settings of the start, even when others are in
                                                 force */
        rc = serve(&settings->options, error);
        nb_milter_settings_release(&settings);
        nb_milter_settings_publish(NULL);
    }
    nb_call_teardown();
    return rc;
}

/* The process that serves ends with the first one. It has a group of its own, since a terminal
 * sends its signals to the whole group, and a name of its own for the sake of killall(1). Returns
 * the exit status. */
static int be_server(struct nb_milter_options *options)
{
    struct nb_error error = {0};
    nb_platform_follow_parent("milter-server", SIGTERM);
    (void)setpgid(0, 0);
    if (getppid() != first_process)
        return EXIT_FAILURE; /* the first process ended before that */
    int rc = serve_with_settings(options, &error);
    if (rc != 0)
        nb_log(NB_LOG_ERROR, "%s", error.text);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- the first process ----------------------------------------------------------------------- */

/* Stops the server. libmilter, while it waits for connections, looks for signals only every five
 * seconds, too rarely for a restart; so connections wake it. */
static void stop(pid_t server, const char *socket)
{
    const struct timespec pause = {.tv_nsec = KNOCK_MILLISECONDS * 1000000L};
    nb_notify("STOPPING=1");
    (void)kill(server, SIGTERM); /* fails when it has ended */
    for (int i = 0; i < KNOCKS && nb_milter_socket_knock(socket); i++)
        (void)nanosleep(&pause, NULL);
}

/* Passes a signal on. A signal to stop waits until the server is ready: before that, libmilter
 * would close its socket and open it again. */
static void pass_on(int number, pid_t server, const char *socket)
{
    static bool is_ready, is_stopping;
    bool is_stop = number == SIGTERM || number == SIGINT;
    is_ready |= number == SIGUSR1;
    is_stopping |= is_stop;
    if (number == SIGUSR1)
        nb_notify("READY=1");
    if (is_ready && is_stopping && (is_stop || number == SIGUSR1))
        stop(server, socket);
    if (number == SIGHUP) {
        nb_notify("RELOADING=1");
        (void)kill(server, SIGUSR1); /* fails when it has ended */
    }
}

/* Passes signals on until the server has ended. Returns its exit status. */
static int watch(pid_t server, const char *socket, const sigset_t *signals)
{
    for (;;) {
        int status;
        pass_on(next_signal(signals), server, socket);
        if (waitpid(server, &status, WNOHANG) != server)
            continue;
        if (WIFEXITED(status))
            return WEXITSTATUS(status);
        nb_log(NB_LOG_ERROR, "the process that serves was ended by a signal: %s",
               strsignal(WTERMSIG(status)));
        return EXIT_FAILURE;
    }
}

static int write_pid(const char *path, struct nb_error *error)
{
    if (path == NULL)
        return 0;
    FILE *file = fopen(path, "we");
    bool is_written = file != NULL && fprintf(file, "%ld\n", (long)getpid()) > 0;
    if (file != NULL && fclose(file) != 0)
        is_written = false;
    return is_written ? 0 : nb_error_set(error, NB_IO, "%.200s cannot be written", path);
}

static void set_up_process(const struct nb_milter_options *options, sigset_t *signals)
{
    nb_log_set_name("bayesd-milter");
    nb_log_setup(options->is_quiet ? NB_LOG_WARNING : NB_LOG_INFO);
    sigemptyset(signals);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGHUP);
    sigaddset(signals, SIGUSR1);
    sigaddset(signals, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, signals, NULL); /* fails for an invalid set only */
    (void)signal(SIGPIPE, SIG_IGN); /* writing to a daemon that has ended must fail instead */
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* a connection takes two descriptors */
    }
}

/* Starts the server and waits for its end. Returns the exit status. */
static int run(struct nb_milter_options *options)
{
    sigset_t signals;
    struct nb_error error = {0};
    set_up_process(options, &signals);
    if (write_pid(options->pid_file, &error) != 0) {
        nb_log(NB_LOG_ERROR, "%s", error.text);
        nb_milter_options_deinit(options);
        return EXIT_FAILURE;
    }
    first_process = getpid();
    pid_t server = fork();
    if (server == 0)
        return be_server(options);
    int status = EXIT_FAILURE;
    if (server > 0)
        status = watch(server, options->socket, &signals);
    else
        nb_log(NB_LOG_ERROR, "no process that serves can be started: %s", strerror(errno));
    if (options->pid_file != NULL)
        (void)unlink(options->pid_file); /* if it stays, it names a process that is gone */
    nb_milter_options_deinit(options);
    return status;
}

int main(int argc, char **argv)
{
    struct nb_milter_options options;
    struct nb_error error = {0};
    if (nb_milter_options_read(argc, argv, &options, &error) != 0) {
        (void)fprintf(stderr, "bayesd-milter: %s (--help lists the options)\n", error.text);
        return EXIT_COMMAND_LINE;
    }
    if (options.command == NB_MILTER_HELP) {
        nb_milter_options_help(stdout);
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (options.command == NB_MILTER_VERSION) {
        (void)puts("bayesd-milter " NB_PROGRAM_VERSION);
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    given.argc = argc;
    given.argv = argv;
    return run(&options);
}
