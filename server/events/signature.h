/* SPDX-License-Identifier: Apache-2.0
 *
 * The signature of an event, as the Standard Webhooks (version 1, symmetric) make it: HMAC-SHA256
 * with a secret that the receiver has, too, over "ID.TIME.BODY". Pure functions; any thread.
 */
#ifndef NB_SERVER_EVENTS_SIGNATURE_H
#define NB_SERVER_EVENTS_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

enum {
    NB_SECRET_LEAST = 24, /* bytes, as the Standard Webhooks want */
    NB_SECRET_MOST = 64,
    NB_SIGNATURE_TEXT = 48 /* "v1,", 44 characters of base64 and a NUL */
};

struct nb_event_secret {
    unsigned char bytes[NB_SECRET_MOST];
    size_t length;
};

/* Reads a secret from its text: "whsec_" and base64. Returns 0 or NB_INVALID; the message does not
 * show the text. */
int nb_event_secret_read(struct nb_string text, struct nb_event_secret *secret,
                         struct nb_error *error);

/* Writes the signature of an event, as the field webhook-signature has it. `time`: of the attempt,
 * in seconds since 1970, as in the field webhook-timestamp. */
void nb_event_sign(const struct nb_event_secret *secret, const char *id, int64_t time,
                   struct nb_string body, char signature[NB_SIGNATURE_TEXT]);

#endif
