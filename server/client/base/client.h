/* SPDX-License-Identifier: Apache-2.0
 *
 * What all commands of bayesc share: the daemon and the model that they work on, requests for JSON
 * and its output, settings as people type them, signals, and the exit statuses of sysexits.h. The
 * main thread fills the client before other threads start; the client is read-only afterwards. Only
 * the main thread handles signals and prints; any thread may call the other functions.
 */
#ifndef NB_SERVER_CLIENT_BASE_CLIENT_H
#define NB_SERVER_CLIENT_BASE_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "server/http/call/call.h"

/* A code beside enum nb_code and enum nb_call_code. */
enum { NB_CLIENT_USAGE = -120 /* the command line cannot be understood */ };

struct nb_client {
    struct nb_call_target daemon;
    const char *model; /* borrowed from the command line or the environment */
    bool json;         /* print JSON instead of text for people */
    bool names_model;  /* --model or MODEL was given; else `model` is the default */
};

/* The exit status for a code below 0, of enum nb_code, enum nb_call_code or NB_CLIENT_USAGE. */
int nb_exit_status(int code);

/* GETs the description of the client's model. *model is owned by the caller. Returns 0 or a code of
 * nb_call_make. */
int nb_model_get(const struct nb_client *client, json_t **model, struct nb_error *error);

/* Prints a JSON value in one line on standard output. Returns 0 or NB_IO. */
int nb_answer_print(const json_t *value, struct nb_error *error);

/* Returns any JSON value as text, numbers with ten digits. The caller frees it; NULL without a
 * value or memory. */
char *nb_answer_dump(const json_t *value);

/* Returns a member of an object; 0 or "" if no member has this name and type. The text is
 * borrowed. */
uint64_t nb_answer_number(const json_t *object, const char *name);
const char *nb_answer_text(const json_t *object, const char *name);

/* Returns the value that a path of names leads to: "a.b" is the member b of the member a, "a.0" the
 * first element of the array a. NULL: there is none. Borrowed. */
const json_t *nb_answer_member(const json_t *value, struct nb_string path);

/* Puts one setting, NAME=VALUE, into `settings`, an object. The value is parsed as JSON; if it is
 * not JSON, it is taken as a string. It may hold spaces. An empty value is null. Returns 0, or
 * NB_CLIENT_USAGE when `text` is not NAME=VALUE or is not UTF-8. */
int nb_settings_put(json_t *settings, const char *text, struct nb_error *error);

/* Puts settings that are separated by spaces: "smoothing=0.5 decision=bayes". Returns as
 * nb_settings_put. */
int nb_settings_put_all(json_t *settings, const char *text, struct nb_error *error);

/* Writes the content to `out`. Returns 0 or a code. */
typedef int nb_write_content(void *user, FILE *out, struct nb_error *error);

/* Makes the file `name`, or replaces it, or writes to standard output if the name is "-": the
 * content goes to NAME.part, which gets the name when it is complete and on disk. After a failure
 * NAME is as before, and NAME.part is removed. Returns 0, what `content` returns, NB_DISK_FULL,
 * NB_IO or NB_NO_MEMORY. */
int nb_write_file(const char *name, nb_write_content *content, void *user, struct nb_error *error);

/* Opens a nameless file in $TMPDIR or /tmp; on file systems without these, a file whose name is
 * removed at once. Returns a descriptor, which the caller closes, or NB_DISK_FULL, NB_NOT_FOUND or
 * NB_IO. */
int nb_temporary_file(struct nb_error *error);

/* Reports a fault of that file, an errno. Returns its code. */
int nb_temporary_fault(int reason, struct nb_error *error);

/* For commands that must finish something before they exit: from now on Ctrl-C (SIGINT) and SIGTERM
 * are only noted. With `again_kills` only the first Ctrl-C is noted; a second Ctrl-C or SIGTERM
 * ends the program at once. Programs that end a command after a time, such as timeout(1) and mail
 * software, must not have to wait for a daemon that hangs. */
void nb_interrupt_catch(bool again_kills);

/* Returns 0, or NB_STOPPING when a signal was noted. */
int nb_interrupt_check(struct nb_error *error);

#endif
