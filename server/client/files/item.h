/* SPDX-License-Identifier: Apache-2.0
 *
 * One document on its way from a file to the daemon. Any thread; what an item points to belongs to
 * the reader that made it.
 */
#ifndef NB_CLIENT_ITEM_H
#define NB_CLIENT_ITEM_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/mail_bytes.h"

enum {
    NB_ITEM_MOST = NB_MAIL_BYTES /* bytes */
};

/* How an evaluation uses the document, where an index file says so. */
enum nb_item_part { NB_ITEM_ANY, NB_ITEM_TRAIN, NB_ITEM_TEST };

struct nb_item {
    bool is_mail;
    bool has_no_content; /* only values */
    struct nb_string content;
    struct nb_string values; /* of named fields, a JSON object; empty: none */
    struct nb_string label;  /* empty: none */
    struct nb_string id;     /* empty: the daemon makes one from the content */
    struct nb_string row;    /* row of a table, as CSV, if the options ask for it; empty: none */
    bool is_one_of_many;     /* a row or line; other rows of the file may have what it lacks */
    const char *name;        /* for people: the file, and the place in it */
    enum nb_item_part part;
};

#endif
