/* SPDX-License-Identifier: Apache-2.0
 *
 * What a reply with an error status means: the code for the program and the sentence for its user.
 * Any thread.
 */
#ifndef NB_CALL_REFUSAL_H
#define NB_CALL_REFUSAL_H

#include "core/base/buffer.h"
#include "core/base/error.h"

/* Fills `error` from a reply whose status is not 2xx and whose body is `body`, any bytes: with the
 * daemon's own words, or, when the reply is not one of bayesd's, with a sentence that names `url`.
 * Returns the code, of enum nb_code or enum nb_call_code. */
int nb_refusal_read(long status, struct nb_string body, const char *url, struct nb_error *error);

#endif
