/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a dump on its way from or to the daemon: the lines must be consistent, and the last one
 * must be the end line with the right totals. The daemon's import uses the same reader. Memory is
 * needed for one line. One thread.
 */
#ifndef NB_SERVER_CLIENT_COMMANDS_COMMAND_DUMP_H
#define NB_SERVER_CLIENT_COMMANDS_COMMAND_DUMP_H

#include "core/base/error.h"
#include "server/base/dump_json.h"
#include "server/base/ndjson.h"

/* Private to the functions below. */
struct nb_dump_check {
    struct nb_json_dump_reader *reader; /* owned */
    struct nb_splitter lines;
    struct nb_error error; /* the first fault; code 0: none yet */
};

/* Returns 0 or NB_NO_MEMORY; nb_dump_check_deinit is needed in both cases. */
int nb_dump_check_init(struct nb_dump_check *check);
void nb_dump_check_deinit(struct nb_dump_check *check);

/* Takes the next bytes of the dump. Returns 0, or the code of the first fault; bytes after a fault
 * are ignored. */
int nb_dump_check_add(struct nb_dump_check *check, const char *bytes, size_t length);

/* Call after the last byte: checks whether the dump was complete. Returns 0 or the code of the
 * first fault: NB_INVALID (cut off, wrong totals, wrong lines), NB_TOO_LARGE (a line of more than
 * 256 MiB), NB_NO_MEMORY. */
int nb_dump_check_end(struct nb_dump_check *check);

#endif
