/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesd: reads the command line and the configuration, and serves or does another action.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/platform/platform.h"
#include "server/base/log.h"
#include "server/base/version.h"
#include "server/configure.h"
#include "server/daemon.h"
#include "server/offline.h"
#include "server/options.h"
#include "tokenizer/document.h"

enum { EXIT_COMMAND_LINE = 2 };

static int run(const struct nb_options *options)
{
    struct nb_config config = {0};
    struct nb_error error = {0};
    int rc = nb_configure_read(options, &config, &error);
    if (rc == 0) {
        nb_log_setup((enum nb_log_level)config.log_level);
        nb_configure_log(&config);
        nb_configure_warn(&config);
        rc = nb_tokenizer_setup(&error);
    }
    if (rc == 0) {
        rc = options->action == NB_ACTION_SERVE ? nb_daemon_run(options, &config, &error)
                                                : nb_offline_act(options, &config, &error);
        nb_tokenizer_teardown();
    }
    if (rc < 0)
        nb_log(NB_LOG_ERROR, "%s", error.text);
    nb_config_deinit(&config);
    if (rc == NB_DAEMON_ANEW && options->action == NB_ACTION_SERVE) {
        (void)execv(nb_platform_same_program(),
                    options->arguments); /* the process stays the same for the service manager */
        nb_log(NB_LOG_ERROR, "the program cannot be started again: %s", strerror(errno));
    }
    return rc == 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct nb_options options;
    struct nb_error error = {0};
    if (nb_options_read(argc, argv, &options, &error) != 0) {
        (void)fprintf(stderr, "bayesd: %s (--help lists the options)\n", error.text);
        return EXIT_COMMAND_LINE;
    }
    if (options.action == NB_ACTION_HELP) {
        nb_options_help(stdout);
        return EXIT_SUCCESS;
    }
    if (options.action == NB_ACTION_VERSION) {
        (void)puts("bayesd " NB_PROGRAM_VERSION);
        return EXIT_SUCCESS;
    }
    nb_platform_heap_setup();
    return run(&options);
}
