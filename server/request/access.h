/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may do what: bearer tokens with roles, and networks whose mail filters need none. Made from
 * the configuration by the main thread; read-only afterwards, for any thread.
 */
#ifndef NB_SERVER_REQUEST_ACCESS_H
#define NB_SERVER_REQUEST_ACCESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/request/route.h"

struct nb_config;
struct nb_access;

/* Reads [tokens]. *access is NULL when there are no tokens: everybody may do everything. Returns 0,
 * NB_NO_MEMORY, or NB_INVALID, which names the option and what is wrong with it, never a token. */
int nb_access_new(const struct nb_config *config, struct nb_access **access,
                  struct nb_error *error);
void nb_access_free(struct nb_access **access);

enum { NB_ACCESS_NAME = 65 }; /* of a token, with its NUL: a source has 64 bytes at most */

/* The role of whoever shows this token; NB_ROLE_NONE when nobody has it. Sets *name to the token's
 * name, which lives as long as `access`; "" when it has none. Takes the same time for every token.
 */
enum nb_role nb_access_role(const struct nb_access *access, struct nb_string token,
                            const char **name);

/* Whether clients of this address (NULL: unknown; that of a file: always) may check and learn mail
 * without a token, by the protocols of mail filters, most of whose clients cannot show one. */
bool nb_access_trusts(const struct nb_access *access, const struct sockaddr *address);

/* The token of an Authorization field (RFC 6750, section 2.1: "Bearer" and the token); of length 0
 * when it holds none. */
struct nb_string nb_access_bearer(struct nb_string authorization);

#endif
