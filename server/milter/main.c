/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesd-milter: connects a mail server, which speaks the milter protocol, with bayesd, which
 * speaks HTTP. Reads the command line, opens the socket, and serves until a signal comes.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/base/notify.h"
#include "server/base/version.h"
#include "server/call/access_token.h"
#include "server/milter/callbacks.h"
#include "server/milter/listener.h"
#include "server/milter/milter_socket.h"
#include "server/milter/relay.h"

enum {
    EXIT_COMMAND_LINE = 2,
    PACKET_SECONDS = 60 /* in which a mail server sends a packet */
};

static void stop_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP); /* libmilter stops on it too */
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

/* What is open while the program serves. */
struct doors {
    int listener;               /* for mail servers, until the relay has it; -1: none */
    char inner[NB_INNER_BYTES]; /* libmilter's socket; "" when there is none */
    bool has_pid;
    struct nb_relay *relay;
};

/* Opens everything; nothing is served yet. close_doors is needed in any case. */
static int open_doors(const struct nb_milter_options *options, struct nb_ask *ask,
                      struct doors *doors, struct nb_error *error)
{
    *doors = (struct doors){.listener = -1};
    int rc = nb_milter_listen(options->socket, options->socket_mode, &doors->listener, error);
    if (rc == 0)
        rc = nb_milter_inner_make(doors->inner, error);
    if (rc == 0)
        rc = nb_milter_register(options, ask) == 0 ? 0 : nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_milter_open(doors->inner, options->target.timeout, error);
    if (rc == 0)
        rc = write_pid(options->pid_file, error);
    doors->has_pid = rc == 0 && options->pid_file != NULL;
    return rc;
}

static void close_doors(const struct nb_milter_options *options, struct doors *doors)
{
    if (doors->listener >= 0) {
        nb_milter_unlisten(options->socket);
        (void)close(doors->listener);
    }
    if (doors->inner[0] != '\0')
        nb_milter_inner_remove(doors->inner);
    if (doors->has_pid)
        (void)unlink(options->pid_file); /* if it stays, it names a process that is gone */
}

static void wait_for_signal(void)
{
    sigset_t signals;
    int which = 0;
    stop_signals(&signals);
    (void)sigwait(&signals, &which); /* fails for an invalid set only */
    nb_log(NB_LOG_INFO, "stopping signal=%s", strsignal(which));
}

/* Stops what runs. Returns whether all connections have ended. */
static bool stop(const struct nb_milter_options *options, struct doors *doors)
{
    if (doors->relay != NULL) {
        nb_relay_close_listener(doors->relay);
        nb_milter_unlisten(options->socket);
    }
    bool is_over = nb_milter_stop();
    if (doors->relay != NULL)
        nb_relay_stop(&doors->relay);
    return is_over;
}

/* Serves until a signal comes. */
static int serve(const struct nb_milter_options *options, struct doors *doors,
                 struct nb_error *error)
{
    int rc = nb_milter_start(error);
    if (rc != 0)
        return rc;
    const struct nb_relay_settings settings = {.listener = doors->listener,
                                               .inner = doors->inner,
                                               .connections = options->max_connections,
                                               .seconds = PACKET_SECONDS};
    doors->listener = -1; /* the relay's */
    rc = nb_relay_start(&settings, &doors->relay, error);
    if (rc == 0) {
        /* Tests and scripts wait for this line, so it does not depend on the level of the log. */
        (void)fprintf(stderr, "bayesd-milter: ready on %s\n", options->socket);
        nb_notify("READY=1");
        wait_for_signal();
        nb_notify("STOPPING=1");
    } else {
        nb_milter_unlisten(options->socket);
    }
    if (!stop(options, doors)) {
        close_doors(options, doors);
        _exit(EXIT_SUCCESS); /* threads still use what a return would free */
    }
    return rc;
}

static int run(struct nb_milter_options *options, struct nb_error *error)
{
    struct nb_ask ask;
    int rc = nb_access_token_read(options->target.token_file, &options->target.token, error);
    if (rc == 0)
        rc = nb_call_setup(error);
    if (rc != 0)
        return rc;
    rc = nb_ask_init(&ask, &options->target, options->pause, error);
    if (rc == 0) {
        static struct doors doors; /* libmilter's threads read the path */
        rc = open_doors(options, &ask, &doors, error);
        if (rc == 0)
            rc = serve(options, &doors, error);
        close_doors(options, &doors);
        nb_ask_deinit(&ask);
    }
    nb_call_teardown();
    return rc;
}

static void set_up_process(const struct nb_milter_options *options)
{
    nb_log_set_name("bayesd-milter");
    nb_log_setup(options->is_quiet ? NB_LOG_WARNING : NB_LOG_INFO);
    /* Blocked before any thread starts, so that all threads inherit it; the main thread waits. */
    sigset_t signals;
    stop_signals(&signals);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* writing to a daemon that has gone is to fail */
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* a connection takes four */
    }
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
    set_up_process(&options);
    int rc = run(&options, &error);
    nb_buffer_deinit(&options.target.token);
    if (rc != 0)
        nb_log(NB_LOG_ERROR, "%s", error.text);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
