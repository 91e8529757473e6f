/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks names of models, labels, document ids and sources. Pure functions; any thread. Each
 * returns 0, or NB_UNUSABLE with an error text that names the member.
 */
#ifndef NB_CORE_MODEL_NAMES_H
#define NB_CORE_MODEL_NAMES_H

#include "core/base/buffer.h"
#include "core/base/error.h"

enum { NB_MODEL_NAME_MOST = 128 }; /* bytes */

/* [A-Za-z0-9][A-Za-z0-9._@+-]{0,127} */
int nb_check_model_name(struct nb_string name, struct nb_error *error);
/* 1 to 64 bytes of UTF-8 without control characters. */
int nb_check_label(struct nb_string label, struct nb_error *error);
/* 1 to 256 bytes of UTF-8. */
int nb_check_id(struct nb_string id, struct nb_error *error);
/* 0 to 64 bytes of UTF-8 without control characters. */
int nb_check_source(struct nb_string source, struct nb_error *error);

#endif
