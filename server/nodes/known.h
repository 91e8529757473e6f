/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the nodes, for those who ask this one: the lists that its readers have read
 * last. Any thread.
 */
#ifndef NB_SERVER_NODES_KNOWN_H
#define NB_SERVER_NODES_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/nodes/told.h"

struct nb_nodes;

/* Of all streams that this node follows, by names; the caller frees *members. Returns 0 or
 * NB_NO_MEMORY. */
int nb_nodes_members(struct nb_nodes *nodes, struct nb_known_member **members, size_t *count,
                     struct nb_error *error);

/* For struct nb_server: URLs of nodes that have the model, who were heard of a short time ago
 * first; each with a NUL, `most` bytes at most. */
int nb_nodes_list_followers(struct nb_nodes *nodes, struct nb_string model, size_t most,
                            struct nb_buffer *urls);

#endif
