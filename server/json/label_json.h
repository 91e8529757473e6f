/* SPDX-License-Identifier: Apache-2.0
 *
 * A label as a client gives it, in a member, a query or a path: brought into the form of labels,
 * and checked. Every door calls this one function. Pure; any thread.
 */
#ifndef NB_SERVER_JSON_LABEL_JSON_H
#define NB_SERVER_JSON_LABEL_JSON_H

#include "core/base/buffer.h"
#include "core/base/error.h"

/* Trims and composes a label (core/base/label/label.h) and checks it (nb_check_label). It is set to
 * a part of itself, or to bytes in `room`, which must outlive it. Returns 0, NB_UNUSABLE (also for
 * a label with U+FFFD, the mark of bytes that were lost in a wrong charset) or NB_NO_MEMORY. */
int nb_label_take(struct nb_string *label, struct nb_buffer *room, struct nb_error *error);

#endif
