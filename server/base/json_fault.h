/* SPDX-License-Identifier: Apache-2.0
 *
 * A hint that the daemon and bayesc add to messages of jansson that do not say what would be right.
 * Pure function; any thread.
 */
#ifndef NB_SERVER_BASE_JSON_FAULT_H
#define NB_SERVER_BASE_JSON_FAULT_H

/* Returns the hint for `fault`, the text of a json_error_t: a constant, "" in most cases. For half
 * a surrogate pair (RFC 8259, section 7) it says that the character was cut. */
const char *nb_json_fault_hint(const char *fault);

#endif
