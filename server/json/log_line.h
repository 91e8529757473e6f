/* SPDX-License-Identifier: Apache-2.0
 *
 * A line of the log as JSON. Pure function; any thread.
 */
#ifndef NB_SERVER_JSON_LOG_LINE_H
#define NB_SERVER_JSON_LOG_LINE_H

#include "core/base/buffer.h"
#include "server/base/log_field.h"

/* An nb_log_form (log.h): {"time": RFC 3339, "level": "info", "message": what, "model": ...}. All
 * bytes are visible ASCII; what is not UTF-8 becomes U+FFFD. */
int nb_json_log_line(struct nb_buffer *out, const char *level, const char *what,
                     const struct nb_log_field *fields, size_t count);

#endif
