/* SPDX-License-Identifier: Apache-2.0
 *
 * One document on its way from a file to the daemon. Any thread; an item belongs to its caller.
 */
#ifndef NB_CLIENT_ITEM_H
#define NB_CLIENT_ITEM_H

#include <stdbool.h>

#include "core/base/buffer.h"

/* What the index file, a column or an option says about the document's use in an evaluation. */
enum nb_part { NB_PART_ANY, NB_PART_TRAIN, NB_PART_TEST };

struct nb_item {
    bool is_mail;
    struct nb_string content;
    struct nb_string label; /* empty: none */
    struct nb_string id;    /* empty: the daemon makes one from the content */
    const char *name;       /* for people: the file, and the place in it */
    enum nb_part part;
};

/* Appends the document object (JSON) that the daemon takes. A mail goes in base64, its bytes are
 * the same in the end; what is not UTF-8 in a text becomes U+FFFD. Without `with_label` the label
 * stays out. NB_NO_MEMORY. */
int nb_item_write(const struct nb_item *item, bool with_label, struct nb_buffer *out);

/* Whether the bytes begin as a mail does: header fields, and two of the well known ones, such as
 * From and Date. */
bool nb_item_looks_like_mail(const char *bytes, size_t length);

#endif
