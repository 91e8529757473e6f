/* SPDX-License-Identifier: Apache-2.0
 *
 * What the daemon and bayesc add to a message of jansson that does not say what would be right.
 * Pure function; any thread.
 */
#ifndef NB_SERVER_BASE_JSON_FAULT_H
#define NB_SERVER_BASE_JSON_FAULT_H

/* `fault`: the text of a json_error_t. Returns what follows it, a constant, "" in most cases: of
 * half a surrogate pair (RFC 8259, section 7) that the character was cut. */
const char *nb_json_fault_hint(const char *fault);

#endif
