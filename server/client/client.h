/* SPDX-License-Identifier: Apache-2.0
 *
 * What all commands of bayesc share: where the daemon is, how to print, how to fail. Read-only once
 * main has filled it; any thread.
 *
 * A command returns a code below 0 with the reason in `error`, which main prints and turns into an
 * exit status of sysexits.h, or an exit status of its own.
 */
#ifndef NB_CLIENT_CLIENT_H
#define NB_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

/* Beside enum nb_code: what only a client can meet. */
enum nb_client_code {
    NB_CLIENT_UNREACHABLE = -100, /* no connection, or it broke or timed out */
    NB_CLIENT_FORBIDDEN = -101,   /* 401 or 403 */
    NB_CLIENT_BUSY = -102,        /* 429 or 503: the same request may succeed later */
    NB_CLIENT_PROTOCOL = -103,    /* the reply is not what a bayesd answers */
    NB_CLIENT_USAGE = -104        /* the command line cannot be understood */
};

enum { NB_LIST_MOST = 64 };

/* The values of an option that may be given several times. */
struct nb_list {
    const char *items[NB_LIST_MOST]; /* borrowed from the command line */
    size_t count;
};

struct nb_client {
    const char *url;        /* borrowed; a slash at the end does not matter */
    const char *token_file; /* or NULL */
    const char *model;
    uint64_t timeout; /* seconds without progress */
    bool is_hasty;    /* the whole request must be done within `timeout` */
    bool json;
    uint64_t patience; /* seconds to try again for while the daemon is busy; 0: at once give up */
    struct nb_buffer token; /* owned; empty without a token file */
};

/* The exit status (sysexits.h) of a negative code. */
int nb_client_exit(int code);

/* Reads the token file. NB_NOT_FOUND, NB_IO, NB_INVALID. */
int nb_client_read_token(struct nb_client *client, struct nb_error *error);

/* Prints "bayesc: ..." on standard error; above a progress bar if there is one. */
void nb_client_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
