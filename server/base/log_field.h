/* SPDX-License-Identifier: Apache-2.0
 *
 * A field of an event in the log, and its text form. Any thread.
 */
#ifndef NB_SERVER_BASE_LOG_FIELD_H
#define NB_SERVER_BASE_LOG_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

/* Bytes of a value that are logged; the rest is cut off. */
enum { NB_LOG_VALUE_MOST = 256 };

enum nb_log_kind { NB_LOG_TEXT, NB_LOG_NUMBER, NB_LOG_COUNT };

struct nb_log_field {
    const char *name; /* [a-z_]+ */
    enum nb_log_kind kind;
    struct nb_string text; /* any bytes; borrowed */
    double number;
    uint64_t count;
};

struct nb_log_field nb_log_text(const char *name, struct nb_string text);
struct nb_log_field nb_log_number(const char *name, double number);
struct nb_log_field nb_log_count(const char *name, uint64_t count);

/* Appends "what name=value name=\"value\"". A value is quoted if it has bytes other than visible
 * ASCII, or one of = " \; in quotes, a \ precedes " and \, and bytes other than visible ASCII and
 * the blank are written as \xNN. Returns 0 or NB_NO_MEMORY. */
int nb_log_write_text(struct nb_buffer *out, const char *what, const struct nb_log_field *fields,
                      size_t count);

/* Sends an event to the journal: `message`, the priority of syslog(3), the program's name, and each
 * field as BAYESD_NAME. Returns 0, or NB_IO when there is no journal or it refuses the event. */
int nb_log_send_to_journal(int priority, const char *program, const char *message, const char *what,
                           const struct nb_log_field *fields, size_t count);

#endif
