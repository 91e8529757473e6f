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
#include "server/milter/callbacks.h"
#include "server/milter/listener.h"
#include "server/milter/milter_signals.h"
#include "server/milter/milter_socket.h"
#include "server/milter/relay.h"
#include "server/milter/settings.h"

enum {
    EXIT_COMMAND_LINE = 2,
    PACKET_SECONDS = 60 /* in which a mail server sends a packet */
};

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
    struct nb_milter_relay *relay;
};

/* Opens everything; nothing is served yet. close_doors is needed in any case. */
static int open_doors(const struct nb_milter_options *options, struct doors *doors,
                      struct nb_error *error)
{
    *doors = (struct doors){.listener = -1};
    int rc = nb_milter_listen(options->socket, options->socket_mode, &doors->listener, error);
    if (rc == 0)
        rc = nb_milter_inner_make(doors->inner, error);
    if (rc == 0)
        rc = nb_milter_register() == 0 ? 0 : nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_milter_open(doors->inner, error);
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

/* The command line, for reading it again. */
static struct {
    int argc;
    char **argv;
} given;

/* Waits for a signal to stop; SIGHUP is not one. */
static void wait_for_stop(const struct nb_milter_options *options)
{
    int which;
    while ((which = nb_milter_signals_next()) == SIGHUP) {
        nb_notify("RELOADING=1");
        nb_milter_settings_reload(given.argc, given.argv, options);
        nb_notify("READY=1");
    }
    nb_log(NB_LOG_INFO, "stopping signal=%s", strsignal(which));
}

/* Stops what runs. Returns whether all connections have ended. */
static bool stop(const struct nb_milter_options *options, struct doors *doors)
{
    nb_relay_close_listener(doors->relay);
    nb_milter_unlisten(options->socket);
    struct nb_milter_settings *settings = nb_milter_settings_take();
    bool is_over = nb_milter_stop(settings->options.target.timeout);
    nb_milter_settings_release(&settings);
    nb_relay_stop(&doors->relay);
    return is_over;
}

/* The relay first: libmilter's socket is open already. */
static int start(const struct nb_milter_options *options, struct doors *doors,
                 struct nb_error *error)
{
    const struct nb_relay_settings settings = {.listener = doors->listener,
                                               .inner = doors->inner,
                                               .connections = options->max_connections,
                                               .seconds = PACKET_SECONDS};
    doors->listener = -1; /* the relay's */
    int rc = nb_relay_start(&settings, &doors->relay, error);
    if (rc == 0)
        rc = nb_milter_start(error);
    if (rc == 0)
        return 0;
    nb_milter_unlisten(options->socket);
    if (doors->relay != NULL)
        nb_relay_stop(&doors->relay);
    return rc;
}

/* Serves until a signal comes. */
static int serve(const struct nb_milter_options *options, struct doors *doors,
                 struct nb_error *error)
{
    int rc = start(options, doors, error);
    if (rc != 0)
        return rc;
    /* Tests and scripts wait for this line, so it does not depend on the level of the log. */
    (void)fprintf(stderr, "bayesd-milter: ready on %s\n", options->socket);
    nb_notify("READY=1");
    wait_for_stop(options);
    nb_notify("STOPPING=1");
    if (stop(options, doors))
        return 0;
    close_doors(options, doors);
    _exit(EXIT_SUCCESS); /* threads still use what a return would free */
}

static int run(struct nb_milter_options *options, struct nb_error *error)
{
    static struct doors doors; /* libmilter's threads read the path */
    struct nb_milter_settings *settings = NULL;
    int rc = nb_call_setup(error);
    if (rc != 0)
        return rc;
    rc = nb_milter_settings_new(options, &settings, error);
    if (rc == 0) {
        nb_milter_settings_publish(settings);
        settings = nb_milter_settings_take(); /* those of the start, also when others hold */
        rc = open_doors(&settings->options, &doors, error);
        if (rc == 0)
            rc = serve(&settings->options, &doors, error);
        close_doors(&settings->options, &doors);
        nb_milter_settings_release(&settings);
        nb_milter_settings_publish(NULL);
    }
    nb_call_teardown();
    return rc;
}

static void set_up_process(const struct nb_milter_options *options)
{
    nb_log_set_name("bayesd-milter");
    nb_log_setup(options->is_quiet ? NB_LOG_WARNING : NB_LOG_INFO);
    nb_milter_signals_block();
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
    given.argc = argc;
    given.argv = argv;
    int rc = run(&options, &error);
    if (rc != 0)
        nb_log(NB_LOG_ERROR, "%s", error.text);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
