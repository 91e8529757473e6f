/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the configuration from files and the environment. A file is read line by line, once: the
 * reader refuses repeated groups and keys, and names the line of each fault.
 */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/value.h"
#include "core/base/buffer.h"
#include "core/base/names.h"
#include "core/base/string.h"

/* A configuration has a few kilobytes. The limit keeps a wrong file, such as a log or a disk, out
 * of memory. */
#define MOST_BYTES ((size_t)1 << 20)

/* Most bytes of a path that a message shows: the end, which names the file. */
#define SHOWN_PATH 120
#define WHERE_BYTES 200

#define ENVIRONMENT_PREFIX "BAYESD_"

int nb_config_init(struct nb_config *config, struct nb_error *error)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    memset(config, 0, sizeof *config);
    for (size_t i = 0; i < count; i++) {
        int rc = nb_value_set(config, &options[i], options[i].default_text, "default", error);
        if (rc != 0) {
            nb_config_deinit(config);
            return rc;
        }
    }
    return 0;
}

void nb_config_deinit(struct nb_config *config)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    for (size_t i = 0; i < count; i++)
        nb_value_free(config, &options[i]);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns how much of a name a message shows: the precision for "%.*s". */
static int shown(struct nb_string s)
{
    return (int)nb_utf8_cut(s, 60).length;
}

static const struct nb_option *find_present(struct nb_string group, struct nb_string key)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    for (size_t i = 0; i < count; i++)
        if (nb_string_equals(group, options[i].group) && nb_string_equals(key, options[i].key))
            return &options[i];
    return NULL;
}

/* The option that had this name in an earlier version; NULL: none. Notes the former name for the
 * warning; of too many the last are left out. */
static const struct nb_option *find_former(struct nb_config *config, struct nb_string group,
                                           struct nb_string key)
{
    size_t count, used = strlen(config->former);
    const struct nb_former_option *former = nb_option_former_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (!nb_string_equals(group, former[i].group) || !nb_string_equals(key, former[i].key))
            continue;
        (void)snprintf(config->former + used, sizeof config->former - used,
                       "%s[%s] %s is [%s] %s now", used > 0 ? ", " : "", former[i].group,
                       former[i].key, former[i].now_group, former[i].now_key);
        return find_present(nb_string_of(former[i].now_group), nb_string_of(former[i].now_key));
    }
    return NULL;
}

static const struct nb_option *find_option(struct nb_config *config, struct nb_string group,
                                           struct nb_string key)
{
    const struct nb_option *option = find_present(group, key);
    return option != NULL ? option : find_former(config, group, key);
}

/* Returns the first option of a group, which represents the group; NULL if there is none. */
static const struct nb_option *find_group(struct nb_string group)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    for (size_t i = 0; i < count; i++)
        if (nb_string_equals(group, options[i].group))
            return &options[i];
    return NULL;
}

/* Refuses a key that is not in the group; the message names another group that has it, or the
 * key that is probably meant. */
static int refuse_key(struct nb_string group, struct nb_string key, const char *where,
                      struct nb_error *error)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    for (size_t i = 0; i < count; i++)
        if (nb_string_equals(key, options[i].key))
            return nb_error_set(error, NB_INVALID, "%s: [%.*s] has no key \"%s\"; it is in [%s]",
                                where, shown(group), group.bytes, options[i].key, options[i].group);
    for (size_t i = 0; i < count; i++)
        if (nb_string_equals(group, options[i].group) &&
            nb_near_is(key, nb_string_of(options[i].key)))
            return nb_error_set(error, NB_INVALID,
                                "%s: [%.*s] has no key \"%.*s\": did you mean \"%s\"?", where,
                                shown(group), group.bytes, shown(key), key.bytes, options[i].key);
    return nb_error_set(error, NB_INVALID,
                        "%s: [%.*s] has no key \"%.*s\"; bayesd --print-config lists all", where,
                        shown(group), group.bytes, shown(key), key.bytes);
}

int nb_config_set(struct nb_config *config, const char *group, const char *key, const char *text,
                  const char *where, struct nb_error *error)
{
    struct nb_string group_name = nb_string_of(group), key_name = nb_string_of(key);
    const struct nb_option *option = find_option(config, group_name, key_name);
    if (option == NULL)
        return refuse_key(group_name, key_name, where, error);
    return nb_value_set(config, option, text, where, error);
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct reader {
    struct nb_config *config;
    const char *path;
    size_t line;                     /* from 1 */
    const struct nb_option *options; /* the table */
    size_t *key_lines;               /* by option: the line that sets it; 0 if none does */
    size_t *group_lines;             /* by first option of the group: the line of its [group] */
    struct nb_string group;          /* the current group; empty before the first */
    struct nb_buffer value;          /* owned: the current value as a C string */
    struct nb_error *error;
};

/* Writes "PATH:LINE" to `where`, with only the end of a long path. */
static void where_of(const char *path, size_t line, char where[WHERE_BYTES])
{
    size_t length = strlen(path);
    const char *dots = "";
    if (length > SHOWN_PATH) {
        path += length - SHOWN_PATH;
        while (nb_utf8_is_continuation((unsigned char)*path))
            path++;
        dots = "...";
    }
    (void)snprintf(where, WHERE_BYTES, "%s%s:%zu", dots, path, line); /* it fits */
}

static int read_group(struct reader *reader, struct nb_string line, const char *where)
{
    if (line.bytes[line.length - 1] != ']')
        return nb_error_set(reader->error, NB_INVALID,
                            "%s: a line that begins with \"[\" must be [group]", where);
    struct nb_string group = {line.bytes + 1, line.length - 2};
    const struct nb_option *first = find_group(group);
    if (first == NULL)
        return nb_error_set(reader->error, NB_INVALID,
                            "%s: no group [%.*s]; bayesd --print-config lists all", where,
                            shown(group), group.bytes);
    size_t *seen = &reader->group_lines[first - reader->options];
    if (*seen != 0)
        return nb_error_set(reader->error, NB_INVALID,
                            "%s: group [%s] stands in line %zu already; write its keys there",
                            where, first->group, *seen);
    *seen = reader->line;
    reader->group = group;
    return 0;
}

/* Sets an option. Values have no escape sequences and no quotes: a path is written as it is. */
static int take_value(struct reader *reader, const struct nb_option *option, struct nb_string value,
                      const char *where)
{
    reader->value.length = 0;
    if (nb_buffer_append(&reader->value, value.bytes, value.length) != 0 ||
        nb_buffer_append(&reader->value, "", 1) != 0)
        return nb_error_no_memory(reader->error);
    return nb_value_set(reader->config, option, reader->value.bytes, where, reader->error);
}

/* Returns the part of a line that a message may show. In [tokens] it hides any text long enough
 * to be a token: continuing a list on the next line is a likely mistake, and messages end up in
 * logs. */
static struct nb_string showable(const struct reader *reader, struct nb_string text)
{
    enum { TOKEN_LEAST = 16 };
    bool is_token = text.length >= TOKEN_LEAST && nb_string_equals(reader->group, "tokens");
    return is_token ? nb_string_of("...") : text;
}

/* Adds a line database.N of [nodes] to the list `databases`. */
static int add_database(struct reader *reader, struct nb_string number, struct nb_string value,
                        const char *where)
{
    const struct nb_option *option = find_present(nb_string_of("nodes"), nb_string_of("databases"));
    const char *before = reader->config->nodes_databases;
    struct nb_buffer list = {0};
    int rc = nb_buffer_printf(&list, "%s%s%.*s=%.*s", before, before[0] == '\0' ? "" : " ",
                              (int)number.length, number.bytes, (int)value.length, value.bytes);
    rc = rc == 0 ? take_value(reader, option, nb_buffer_string(&list), where)
                 : nb_error_no_memory(reader->error);
    nb_buffer_deinit(&list);
    return rc;
}

static int read_key(struct reader *reader, struct nb_string line, const char *where)
{
    const char *equals = memchr(line.bytes, '=', line.length);
    struct nb_string seen_line = showable(reader, line);
    if (equals == NULL)
        return nb_error_set(reader->error, NB_INVALID,
                            "%s: \"%.*s\" is neither [group] nor key = value nor a # comment",
                            where, shown(seen_line), seen_line.bytes);
    struct nb_string key =
        nb_string_trim((struct nb_string){line.bytes, (size_t)(equals - line.bytes)});
    if (reader->group.length == 0)
        return nb_error_set(reader->error, NB_INVALID,
                            "%s: \"%.*s\" stands before the first [group]", where, shown(key),
                            key.bytes);
    static const char NUMBERED[] = "database.";
    struct nb_string value =
        nb_string_trim(nb_string_from(line, (size_t)(equals - line.bytes) + 1));
    if (nb_string_equals(reader->group, "nodes") && key.length >= sizeof NUMBERED &&
        memcmp(key.bytes, NUMBERED, sizeof NUMBERED - 1) == 0)
        return add_database(reader, nb_string_from(key, sizeof NUMBERED - 1), value, where);
    const struct nb_option *option = find_option(reader->config, reader->group, key);
    if (option == NULL)
        return refuse_key(reader->group, showable(reader, key), where, reader->error);
    size_t *seen = &reader->key_lines[option - reader->options];
    if (*seen != 0)
        return nb_error_set(reader->error, NB_INVALID, "%s: [%s] %s is set in line %zu already",
                            where, option->group, option->key, *seen);
    *seen = reader->line;
    return take_value(reader, option, value, where);
}

static int read_line(struct reader *reader, struct nb_string text)
{
    char where[WHERE_BYTES];
    where_of(reader->path, reader->line, where);
    text = nb_string_trim_end(text, "\r\n");
    if (nb_value_bad_byte(text.bytes, text.length) != text.length)
        return nb_error_set(reader->error, NB_INVALID,
                            "%s: a byte that is not UTF-8, or a control character", where);
    struct nb_string line = nb_string_trim(text);
    if (line.length == 0 || line.bytes[0] == '#')
        return 0;
    return line.bytes[0] == '[' ? read_group(reader, line, where) : read_key(reader, line, where);
}

static int read_lines(struct reader *reader, const char *text, size_t length)
{
    const char *end = text + length;
    int rc = 0;
    for (const char *next; rc == 0 && text < end; text = next) {
        next = nb_lines_next(text, end);
        reader->line++;
        rc = read_line(reader, (struct nb_string){text, (size_t)(next - text)});
    }
    return rc;
}

/* ---- files ----------------------------------------------------------------------------------- */

int nb_config_parse(struct nb_config *config, const char *text, size_t length, const char *path,
                    struct nb_error *error)
{
    size_t count;
    struct reader reader = {
        .config = config, .path = path, .options = nb_option_table(&count), .error = error};
    if (length > MOST_BYTES)
        return nb_error_set(error, NB_INVALID, "%s: more than %zu bytes are no configuration", path,
                            MOST_BYTES);
    reader.key_lines = calloc(count, sizeof *reader.key_lines);
    reader.group_lines = calloc(count, sizeof *reader.group_lines);
    int rc = reader.key_lines == NULL || reader.group_lines == NULL
                 ? nb_error_no_memory(error)
                 : read_lines(&reader, text, length);
    nb_buffer_deinit(&reader.value);
    free(reader.group_lines);
    free(reader.key_lines);
    return rc;
}

int nb_config_load(struct nb_config *config, const char *path, struct nb_error *error)
{
    struct nb_buffer text = {0};
    int failure = nb_buffer_read_file(&text, path, MOST_BYTES);
    int rc = failure == 0 || failure == EFBIG /* nb_config_parse says so */
                 ? nb_config_parse(config, text.bytes, text.length, path, error)
                 : nb_error_errno(error, failure, path);
    nb_buffer_deinit(&text);
    return rc;
}

/* ---- environment ----------------------------------------------------------------------------- */

/* Returns whether `name`, without the prefix, is GROUP_KEY in capitals. */
static bool is_name_of(struct nb_string name, const char *group_name, const char *key_name)
{
    size_t group = strlen(group_name), key = strlen(key_name);
    if (name.length != group + 1 + key || name.bytes[group] != '_')
        return false;
    for (size_t i = 0; i < name.length; i++) {
        char want = i < group ? group_name[i] : i == group ? '_' : key_name[i - group - 1];
        if (name.bytes[i] != nb_ascii_upper(want))
            return false;
    }
    return true;
}

/* The option of a variable, without the prefix, under its present or former name; NULL: none. */
static const struct nb_option *find_variable(struct nb_config *config, struct nb_string name)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    for (size_t i = 0; i < count; i++)
        if (is_name_of(name, options[i].group, options[i].key))
            return &options[i];
    const struct nb_former_option *former = nb_option_former_table(&count);
    for (size_t i = 0; i < count; i++)
        if (is_name_of(name, former[i].group, former[i].key))
            return find_former(config, nb_string_of(former[i].group), nb_string_of(former[i].key));
    return NULL;
}

static int take_variable(struct nb_config *config, const char *variable, struct nb_error *error)
{
    size_t length = strcspn(variable, "=");
    const size_t prefix = strlen(ENVIRONMENT_PREFIX);
    struct nb_string whole = {variable, length};
    char where[WHERE_BYTES];
    (void)snprintf(where, sizeof where, "environment: %.*s", shown(whole), whole.bytes);
    const struct nb_option *option = find_variable(config, nb_string_from(whole, prefix));
    if (option != NULL)
        return nb_value_set(config, option, variable[length] == '=' ? variable + length + 1 : "",
                            where, error);
    return nb_error_set(error, NB_INVALID,
                        "%s is no option; write " ENVIRONMENT_PREFIX
                        "GROUP_KEY of an option that bayesd --print-config lists",
                        where);
}

int nb_config_environment(struct nb_config *config, char *const *environment,
                          struct nb_error *error)
{
    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, ENVIRONMENT_PREFIX, strlen(ENVIRONMENT_PREFIX)) != 0)
            continue;
        int rc = take_variable(config, *environment, error);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Writes the value of `running` into `next` when the option needs a restart. */
static int keep(struct nb_config *next, const struct nb_option *option, const char *running,
                struct nb_error *error)
{
    return option->change == NB_LIVE ? 0 : nb_value_set(next, option, running, "running", error);
}

static int compare(struct nb_config *next, const struct nb_config *running,
                   const struct nb_option *option, nb_config_changed *changed, void *user,
                   struct nb_error *error)
{
    struct nb_buffer now = {0}, then = {0};
    int rc = nb_value_print(next, option, &now);
    if (rc == 0)
        rc = nb_value_print(running, option, &then);
    if (rc == 0)
        rc = nb_buffer_append(&then, "", 1);
    struct nb_string unset = nb_string_of(option->default_text);
    bool is_unset = rc == 0 && nb_string_same((struct nb_string){now.bytes, now.length}, unset);
    bool is_same = rc == 0 && nb_string_same((struct nb_string){now.bytes, now.length},
                                             (struct nb_string){then.bytes, then.length - 1});
    if (rc != 0)
        (void)nb_error_no_memory(error);
    else if (!is_same)
        rc = keep(next, option, then.bytes, error);
    if (rc == 0 && !is_same)
        changed(user, option, is_unset);
    nb_buffer_deinit(&now);
    nb_buffer_deinit(&then);
    return rc;
}

int nb_config_carry_over(struct nb_config *next, const struct nb_config *running,
                         nb_config_changed *changed, void *user, struct nb_error *error)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = compare(next, running, &options[i], changed, user, error);
    return rc;
}
