/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths of requests to the daemon. Any thread.
 */
#ifndef NB_CALL_PATH_H
#define NB_CALL_PATH_H

#include "core/base/buffer.h"

/* Appends "/v1/models/MODEL" and `rest`, and a NUL that `length` does not count. The name of the
 * model is percent-encoded, `rest` is not. Returns 0 or NB_NO_MEMORY. */
int nb_path_model(struct nb_buffer *path, const char *model, const char *rest);

/* Appends a percent-encoded segment to a path that has no query yet. Returns 0 or NB_NO_MEMORY. */
int nb_path_segment(struct nb_buffer *path, const char *segment);

/* Appends "NAME=VALUE" behind "?", or behind "&" when the path has a query already; the value is
 * percent-encoded. A value of NULL appends nothing. Returns 0 or NB_NO_MEMORY. */
int nb_path_query(struct nb_buffer *path, const char *name, const char *value);

#endif
