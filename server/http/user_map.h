/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of users ([filter] user_map) says which names from mail software belong to the same
 * user. A line has a name and the user whom it means; a name that matches no line means itself:
 *
 *     bob@example.org    gbob     a whole name
 *     @example.org       %l       every name of a domain; %l is what stands before the last @
 *     @                  %l@example.net    every name without a domain
 *
 * Names are compared in lower case. If several lines match, the first one in this order wins: the
 * whole name; the name without its extension ("+lists"); the domain, or "@". Lines that begin with
 * # and empty lines are comments. Made by the main thread; read-only afterwards, for any thread.
 */
#ifndef NB_SERVER_HTTP_USER_MAP_H
#define NB_SERVER_HTTP_USER_MAP_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/base/string.h"

/* Bytes of a user's name with its NUL, which is longer than any name of a model. */
enum { NB_USER_NAME = 256, NB_USER_MAP_BYTES = 64 << 20 };

struct nb_user_map;

/* Reads the text of a file; `path` is for messages. Returns 0, NB_NO_MEMORY, or NB_INVALID with
 * "PATH:LINE: what is wrong". */
int nb_user_map_parse(struct nb_string text, const char *path, struct nb_user_map **map,
                      struct nb_error *error);

/* Reads a file. With an empty path *map is NULL: every name means itself. Returns as
 * nb_user_map_parse, and NB_INVALID for a file that cannot be read. */
int nb_user_map_read(const char *path, struct nb_user_map **map, struct nb_error *error);
void nb_user_map_free(struct nb_user_map **map);

/* Writes the user whom a name means. The name may be in angle brackets. `map` may be NULL. A name
 * that does not fit is cut, and is then still too long for the name of a model. */
void nb_user_map_find(const struct nb_user_map *map, struct nb_string name,
                      char user[NB_USER_NAME]);

#endif
