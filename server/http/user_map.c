/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/user_map.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/base/string.h"

struct entry {
    struct nb_string key, user; /* parts of `text` */
    size_t line;
};

struct nb_user_map {
    char *text;            /* the file, in lower case; owned */
    struct entry *entries; /* in the order of their keys; owned */
    size_t count;
};

/* ---- reading --------------------------------------------------------------------------------- */

static struct nb_string next_word(struct nb_string *line)
{
    *line = nb_string_trim_start(*line, " \t\r");
    size_t length = 0;
    while (length < line->length && strchr(" \t\r", line->bytes[length]) == NULL)
        length++;
    struct nb_string word = {line->bytes, length};
    *line = nb_string_from(*line, length);
    return word;
}

/* Whether the line matches many names, so that "%l" has a meaning. */
static bool is_of_many(struct nb_string key)
{
    return key.length > 0 && key.bytes[0] == '@';
}

static const char *fault_of(const struct entry *entry, struct nb_string rest)
{
    if (entry->user.length == 0 || next_word(&rest).length > 0)
        return "a line must be: NAME USER";
    if (entry->key.length >= NB_USER_NAME || entry->user.length >= NB_USER_NAME)
        return "a name has 255 bytes at most";
    bool has_local = memmem(entry->user.bytes, entry->user.length, "%l", 2) != NULL;
    return has_local && !is_of_many(entry->key) ? "%l is for lines of a domain: @example.org"
                                                : NULL;
}

static int read_lines(struct nb_user_map *map, size_t length, const char *path,
                      struct nb_error *error)
{
    const char *at = map->text, *end = at + length;
    for (size_t number = 1; at < end; number++) {
        const char *next = nb_lines_next(at, end);
        struct nb_string line = nb_string_trim((struct nb_string){at, (size_t)(next - at)});
        at = next;
        if (line.length == 0 || line.bytes[0] == '#')
            continue;
        struct entry entry = {.key = next_word(&line), .line = number};
        entry.user = next_word(&line);
        const char *fault = fault_of(&entry, line);
        if (fault != NULL)
            return nb_error_set(error, NB_INVALID, "%s:%zu: %s", path, number, fault);
        if (nb_array_resize(&map->entries, map->count + 1, sizeof *map->entries) != 0)
            return nb_error_no_memory(error);
        map->entries[map->count++] = entry;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct entry *one = a, *other = b;
    return nb_string_compare(one->key, other->key);
}

static int sort(struct nb_user_map *map, const char *path, struct nb_error *error)
{
    if (map->count > 0)
        qsort(map->entries, map->count, sizeof *map->entries, compare);
    for (size_t i = 1; i < map->count; i++) {
        const struct entry *one = &map->entries[i - 1], *other = &map->entries[i];
        size_t line = one->line > other->line ? one->line : other->line;
        if (nb_string_same(one->key, other->key))
            return nb_error_set(error, NB_INVALID, "%s:%zu: the name '%.*s' has a line already",
                                path, line, (int)one->key.length, one->key.bytes);
    }
    return 0;
}

int nb_user_map_parse(struct nb_string text, const char *path, struct nb_user_map **map,
                      struct nb_error *error)
{
    struct nb_user_map *made = calloc(1, sizeof *made);
    *map = NULL;
    if (made == NULL || (made->text = malloc(text.length + 1)) == NULL) {
        free(made);
        return nb_error_no_memory(error);
    }
    for (size_t i = 0; i < text.length; i++)
        made->text[i] = nb_ascii_lower(text.bytes[i]);
    int rc = memchr(made->text, '\0', text.length) == NULL
                 ? read_lines(made, text.length, path, error)
                 : nb_error_set(error, NB_INVALID, "%s: a NUL byte is in it", path);
    if (rc == 0)
        rc = sort(made, path, error);
    if (rc != 0)
        nb_user_map_free(&made);
    *map = made;
    return rc;
}

int nb_user_map_read(const char *path, struct nb_user_map **map, struct nb_error *error)
{
    struct nb_buffer text = {0};
    *map = NULL;
    if (path[0] == '\0')
        return 0;
    int failure = nb_buffer_read_file(&text, path, NB_USER_MAP_BYTES);
    int rc = failure == 0 ? nb_user_map_parse(nb_buffer_string(&text), path, map, error)
                          : nb_error_set(error, NB_INVALID, "[filter] user_map: %s: %s", path,
                                         strerror(failure));
    nb_buffer_deinit(&text);
    return rc;
}

void nb_user_map_free(struct nb_user_map **map)
{
    if (*map == NULL)
        return;
    free((*map)->entries);
    free((*map)->text);
    free(*map);
    *map = NULL;
}

/* ---- finding --------------------------------------------------------------------------------- */

static const struct entry *find(const struct nb_user_map *map, struct nb_string key)
{
    const struct entry wanted = {.key = key};
    if (map->count == 0)
        return NULL;
    return bsearch(&wanted, map->entries, map->count, sizeof wanted, compare);
}

static void copy(char user[NB_USER_NAME], struct nb_string from)
{
    size_t length = from.length < NB_USER_NAME ? from.length : NB_USER_NAME - 1;
    if (length > 0)
        memcpy(user, from.bytes, length);
    user[length] = '\0';
}

/* Writes the line's user, with `local` in place of "%l". */
static void put(const struct entry *entry, struct nb_string local, char user[NB_USER_NAME])
{
    const char *mark = memmem(entry->user.bytes, entry->user.length, "%l", 2);
    if (mark == NULL) {
        copy(user, entry->user);
        return;
    }
    assert(entry->user.length >= 2);
    int before = (int)(mark - entry->user.bytes);
    int after = (int)entry->user.length - before - 2;
    (void)snprintf(user, NB_USER_NAME, "%.*s%.*s%.*s", before, entry->user.bytes, (int)local.length,
                   local.bytes, after, mark + 2);
}

/* Finds a user. `name` is in lower case and not empty. */
static void find_user(const struct nb_user_map *map, struct nb_string name, char user[NB_USER_NAME])
{
    assert(name.length > 0 && name.length < NB_USER_NAME);
    const char *at = memrchr(name.bytes, '@', name.length);
    struct nb_string domain = {"@", 1}, local = name;
    if (at != NULL) {
        local.length = (size_t)(at - name.bytes);
        domain = nb_string_from(name, local.length);
    }
    const char *plus = local.length > 0 ? memchr(local.bytes, '+', local.length) : NULL;
    const struct entry *entry = find(map, name);
    if (entry == NULL && plus != NULL && plus > local.bytes) {
        char bare[NB_USER_NAME];
        local.length = (size_t)(plus - local.bytes);
        int length = snprintf(bare, sizeof bare, "%.*s%.*s", (int)local.length, local.bytes,
                              at != NULL ? (int)domain.length : 0, domain.bytes);
        assert(length >= 0 && (size_t)length < sizeof bare); /* it is shorter than `name` */
        entry = find(map, (struct nb_string){bare, (size_t)length});
    }
    if (entry == NULL)
        entry = find(map, domain);
    if (entry != NULL)
        put(entry, local, user);
}

void nb_user_map_find(const struct nb_user_map *map, struct nb_string name, char user[NB_USER_NAME])
{
    char lower[NB_USER_NAME];
    name = nb_string_trim(name);
    if (name.length >= 2 && name.bytes[0] == '<' && name.bytes[name.length - 1] == '>')
        name = (struct nb_string){name.bytes + 1, name.length - 2};
    copy(user, name);
    if (map == NULL || name.length == 0 || name.length >= NB_USER_NAME)
        return;
    for (size_t i = 0; i < name.length; i++)
        lower[i] = nb_ascii_lower(name.bytes[i]);
    find_user(map, (struct nb_string){lower, name.length}, user);
}
