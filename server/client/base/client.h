/* SPDX-License-Identifier: Apache-2.0
 *
 * What all commands of bayesc share: the daemon and the model that they work on, the code for a
 * wrong command line, and the exit statuses of sysexits.h for error codes. The main thread fills
 * the client before other threads start; it is read-only afterwards. Functions: any thread.
 */
#ifndef NB_CLIENT_CLIENT_H
#define NB_CLIENT_CLIENT_H

#include <stdbool.h>

#include "server/call/call.h"

/* A code beside enum nb_code and enum nb_call_code. */
enum { NB_CLIENT_USAGE = -120 /* the command line cannot be understood */ };

struct nb_client {
    struct nb_call_target daemon;
    const char *model; /* borrowed from the command line or the environment */
    bool json;         /* print JSON instead of text for people */
    bool names_model;  /* --model was given; else `model` is the default */
};

/* The exit status for a code below 0, of enum nb_code, enum nb_call_code or NB_CLIENT_USAGE. */
int nb_exit_status(int code);

#endif
