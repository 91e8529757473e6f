/* SPDX-License-Identifier: Apache-2.0
 *
 * Two evaluations side by side, for people. Main thread.
 */
#ifndef NB_CLIENT_COMPARE_H
#define NB_CLIENT_COMPARE_H

#include <jansson.h>

/* Prints an empty line and the members "now" and `other` of an object. */
void nb_compare_print(const json_t *evaluation, const char *other);

#endif
