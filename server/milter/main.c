/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesd-milter: connects a mail server, which speaks the milter protocol, with bayesd, which
 * speaks HTTP. Reads the command line, opens the socket, and serves until a signal comes.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/base/notify.h"
#include "server/base/version.h"
#include "server/call/access_token.h"
#include "server/milter/callbacks.h"
#include "server/milter/listener.h"

enum { EXIT_COMMAND_LINE = 2 };

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

/* Serves until a signal comes. */
static int serve(const struct nb_milter_options *options, struct nb_ask *ask,
                 struct nb_error *error)
{
    int rc = nb_milter_register(options, ask);
    if (rc != 0)
        return nb_error_no_memory(error);
    rc = nb_milter_open(options, error);
    if (rc != 0)
        return rc;
    rc = write_pid(options->pid_file, error);
    if (rc == 0)
        rc = nb_milter_start(error);
    if (rc != 0) {
        nb_milter_remove_socket(options);
        return rc;
    }
    /* Tests and scripts wait for this line, so it does not depend on the level of the log. */
    (void)fprintf(stderr, "bayesd-milter: ready on %s\n", options->socket);
    nb_notify("READY=1");
    sigset_t signals;
    int which = 0;
    stop_signals(&signals);
    (void)sigwait(&signals, &which); /* fails for an invalid set only */
    nb_log(NB_LOG_INFO, "stopping signal=%s", strsignal(which));
    nb_notify("STOPPING=1");
    bool is_over = nb_milter_stop();
    if (options->pid_file != NULL)
        (void)unlink(options->pid_file); /* if it stays, it names a process that is gone */
    if (!is_over)
        _exit(EXIT_SUCCESS); /* threads still use what a return would free */
    return 0;
}

static int run(struct nb_milter_options *options, struct nb_error *error)
{
    struct nb_ask ask;
    int rc = nb_access_token_read(options->target.token_file, &options->target.token, error);
    if (rc == 0)
        rc = nb_call_setup(error);
    if (rc != 0)
        return rc;
    rc = nb_ask_init(&ask, &options->target, error);
    if (rc == 0) {
        rc = serve(options, &ask, error);
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
