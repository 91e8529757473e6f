/* SPDX-License-Identifier: Apache-2.0
 *
 * The body of rspamd's /checkv3: a form (multipart/form-data, RFC 7578) with two parts, `metadata`,
 * a JSON object with what the older paths have in header fields, and `message`, the mail. The reply
 * is a part `result` (multipart/mixed), or that JSON alone for clients that accept
 * application/json. Pure functions; any thread.
 */
#ifndef NB_SERVER_MAIL_RSPAMD_FORM_H
#define NB_SERVER_MAIL_RSPAMD_FORM_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "server/base/json_values.h"

struct nb_rspamd_form {
    json_t *metadata;         /* owned; an object */
    struct nb_string message; /* borrowed from the body */
};

enum {
    NB_RSPAMD_FORM_PARTS = 16,
    NB_RSPAMD_FORM_METADATA = 256 * 1024, /* bytes of the part */
};

/* Reads the body of a request with this Content-Type. The caller deinits the form in any case.
 * Returns 0; NB_INVALID, with a text for the client: it is no such form, a part is missing or
 * compressed, or the metadata is no JSON object of texts without control characters; or
 * NB_NO_MEMORY. */
int nb_rspamd_form_read(struct nb_string content_type, struct nb_string body,
                        struct nb_rspamd_form *form, struct nb_error *error);
void nb_rspamd_form_deinit(struct nb_rspamd_form *form);

/* Returns what the metadata has for a header field: its member of that name in lower case with _
 * for -, or of the object `headers` the member of that name in any case. A list gives the value at
 * *at, which begins at 0 and is moved on. bytes == NULL: none, or no more. */
struct nb_string nb_rspamd_form_field(const struct nb_rspamd_form *form, const char *name,
                                      size_t *at);

/* Whether a client with this header field Accept takes the JSON alone. */
bool nb_rspamd_form_is_flat(struct nb_string accept);

/* The reply around the JSON of the result. */
#define NB_RSPAMD_FORM_TYPE "multipart/mixed; boundary=bayesd-result"
int nb_rspamd_form_begin(struct nb_buffer *out);
int nb_rspamd_form_end(struct nb_buffer *out);

#endif
