/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes documents as the JSON objects that the daemon takes. Any thread.
 */
#ifndef NB_CLIENT_ITEM_JSON_H
#define NB_CLIENT_ITEM_JSON_H

#include "server/client/files/item.h"

/* Appends the object of a document. A mail is sent as base64, which keeps its bytes; in a text each
 * byte that is not UTF-8 becomes U+FFFD. Without `with_label` the label is left out; with it an
 * empty label is written as null. Returns 0 or NB_NO_MEMORY, which may leave a part of the object
 * in `out`. */
int nb_item_write(const struct nb_item *item, bool with_label, struct nb_buffer *out);

#endif
