/* SPDX-License-Identifier: Apache-2.0
 *
 * Files and environment of the configuration. GKeyFile reads the values; but it merges
 * groups and keys that stand there twice and knows no line numbers, so a scan of the lines looks at
 * the names first and remembers where each option stands.
 */
#include "config/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "config/value.h"

/* A configuration has some kilobytes. The bound keeps a wrong path (a disk, a log) from being read
 * into memory. */
#define MOST_BYTES ((size_t)1 << 20)

/* Of a path, what a message shows: the end names the file. */
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

static bool same(struct nb_string s, const char *text)
{
    return s.length == strlen(text) && strncmp(s.bytes, text, s.length) == 0;
}

/* The name as a message shows it: the precision for "%.*s". */
static int shown(struct nb_string s)
{
    size_t most = 60;
    if (s.length <= most)
        return (int)s.length;
    while (most > 0 && ((unsigned char)s.bytes[most] & 0xc0) == 0x80)
        most--;
    return (int)most;
}

static const struct nb_option *find_option(struct nb_string group, struct nb_string key)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    for (size_t i = 0; i < count; i++)
        if (same(group, options[i].group) && same(key, options[i].key))
            return &options[i];
    return NULL;
}

/* The first option of a group: stands for the group. NULL if there is no such group. */
static const struct nb_option *find_group(struct nb_string group)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    for (size_t i = 0; i < count; i++)
        if (same(group, options[i].group))
            return &options[i];
    return NULL;
}

/* Refuses a name that is not in the table; if another group has the key, says so. */
static int refuse_key(struct nb_string group, struct nb_string key, const char *where,
                      struct nb_error *error)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    for (size_t i = 0; i < count; i++)
        if (same(key, options[i].key))
            return nb_error_set(error, NB_INVALID, "%s: [%.*s] has no key \"%s\"; it is in [%s]",
                                where, shown(group), group.bytes, options[i].key, options[i].group);
    return nb_error_set(error, NB_INVALID,
                        "%s: [%.*s] has no key \"%.*s\"; bayesd --print-config lists all", where,
                        shown(group), group.bytes, shown(key), key.bytes);
}

int nb_config_set(struct nb_config *config, const char *group, const char *key, const char *text,
                  const char *where, struct nb_error *error)
{
    struct nb_string group_name = {group, strlen(group)}, key_name = {key, strlen(key)};
    const struct nb_option *option = find_option(group_name, key_name);
    if (option == NULL)
        return refuse_key(group_name, key_name, where, error);
    return nb_value_set(config, option, text, where, error);
}

/* ---- the scan of the lines ------------------------------------------------------------------- */

struct scan {
    const char *path;
    size_t line;                     /* from 1 */
    const struct nb_option *options; /* the table */
    size_t *key_lines;               /* by option: the line where it stands, 0 if it does not */
    size_t *group_lines;             /* by first option of the group: the line of its [group] */
    struct nb_string group;          /* the group the line is in; empty before the first */
    struct nb_error *error;
};

/* "PATH:LINE", of a long path the end. */
static void where_of(const char *path, size_t line, char where[WHERE_BYTES])
{
    size_t length = strlen(path);
    const char *dots = "";
    if (length > SHOWN_PATH) {
        path += length - SHOWN_PATH;
        while (((unsigned char)*path & 0xc0) == 0x80)
            path++;
        dots = "...";
    }
    (void)snprintf(where, WHERE_BYTES, "%s%s:%zu", dots, path, line); /* bounded above */
}

static struct nb_string trimmed(const char *bytes, size_t length)
{
    while (length > 0 && isspace((unsigned char)bytes[0])) {
        bytes++;
        length--;
    }
    while (length > 0 && isspace((unsigned char)bytes[length - 1]))
        length--;
    return (struct nb_string){bytes, length};
}

static int scan_group(struct scan *scan, struct nb_string line, const char *where)
{
    if (line.bytes[line.length - 1] != ']')
        return nb_error_set(scan->error, NB_INVALID,
                            "%s: a line that begins with \"[\" must be [group]", where);
    struct nb_string group = {line.bytes + 1, line.length - 2};
    const struct nb_option *first = find_group(group);
    if (first == NULL)
        return nb_error_set(scan->error, NB_INVALID,
                            "%s: no group [%.*s]; bayesd --print-config lists all", where,
                            shown(group), group.bytes);
    size_t *seen = &scan->group_lines[first - scan->options];
    if (*seen != 0)
        return nb_error_set(scan->error, NB_INVALID,
                            "%s: group [%s] stands in line %zu already; write its keys there",
                            where, first->group, *seen);
    *seen = scan->line;
    scan->group = group;
    return 0;
}

static int scan_key(struct scan *scan, struct nb_string line, const char *where)
{
    const char *equals = memchr(line.bytes, '=', line.length);
    if (equals == NULL)
        return nb_error_set(scan->error, NB_INVALID,
                            "%s: \"%.*s\" is neither [group] nor key = value nor a # comment",
                            where, shown(line), line.bytes);
    struct nb_string key = trimmed(line.bytes, (size_t)(equals - line.bytes));
    if (scan->group.length == 0)
        return nb_error_set(scan->error, NB_INVALID, "%s: \"%.*s\" stands before the first [group]",
                            where, shown(key), key.bytes);
    const struct nb_option *option = find_option(scan->group, key);
    if (option == NULL)
        return refuse_key(scan->group, key, where, scan->error);
    size_t *seen = &scan->key_lines[option - scan->options];
    if (*seen != 0)
        return nb_error_set(scan->error, NB_INVALID, "%s: [%s] %s is set in line %zu already",
                            where, option->group, option->key, *seen);
    *seen = scan->line;
    return 0;
}

static int scan_line(struct scan *scan, const char *bytes, size_t length)
{
    char where[WHERE_BYTES];
    where_of(scan->path, scan->line, where);
    if (length > 0 && bytes[length - 1] == '\r')
        length--;
    if (nb_value_bad_byte(bytes, length) != length)
        return nb_error_set(scan->error, NB_INVALID,
                            "%s: a byte that is not UTF-8, or a control character", where);
    struct nb_string line = trimmed(bytes, length);
    if (line.length == 0 || line.bytes[0] == '#')
        return 0;
    return line.bytes[0] == '[' ? scan_group(scan, line, where) : scan_key(scan, line, where);
}

static int scan_lines(struct scan *scan, const char *text, size_t length)
{
    const char *end = text + length;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t size = newline == NULL ? (size_t)(end - text) : (size_t)(newline - text);
        scan->line++;
        int rc = scan_line(scan, text, size);
        if (rc != 0)
            return rc;
        text += newline == NULL ? size : size + 1;
    }
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Takes the values of the options that the scan found. */
static int take_values(struct nb_config *config, GKeyFile *file, const struct scan *scan,
                       size_t count)
{
    char where[WHERE_BYTES];
    for (size_t i = 0; i < count; i++) {
        const struct nb_option *option = &scan->options[i];
        if (scan->key_lines[i] == 0)
            continue;
        where_of(scan->path, scan->key_lines[i], where);
        /* The raw value: no escape sequences, a path stands there as it is. */
        char *value = g_key_file_get_value(file, option->group, option->key, NULL);
        if (value == NULL)
            return nb_error_set(scan->error, NB_INVALID, "%s: [%s] %s cannot be read", where,
                                option->group, option->key);
        int rc = nb_value_set(config, option, g_strchomp(value), where, scan->error);
        g_free(value);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int read_values(struct nb_config *config, const char *text, size_t length,
                       const struct scan *scan, size_t count)
{
    GError *reason = NULL;
    int rc = 0;
    GKeyFile *file = g_key_file_new();
    /* With translations kept, key[de] is a key like any other, and the scan has refused it. */
    if (length > 0 &&
        !g_key_file_load_from_data(file, text, length, G_KEY_FILE_KEEP_TRANSLATIONS, &reason))
        rc = nb_error_set(scan->error, NB_INVALID, "%s: %s", scan->path, reason->message);
    if (rc == 0)
        rc = take_values(config, file, scan, count);
    g_clear_error(&reason);
    g_key_file_free(file);
    return rc;
}

int nb_config_parse(struct nb_config *config, const char *text, size_t length, const char *path,
                    struct nb_error *error)
{
    size_t count;
    struct scan scan = {.path = path, .options = nb_option_table(&count), .error = error};
    if (length > MOST_BYTES)
        return nb_error_set(error, NB_INVALID, "%s: more than %zu bytes are no configuration", path,
                            MOST_BYTES);
    scan.key_lines = calloc(count, sizeof *scan.key_lines);
    scan.group_lines = calloc(count, sizeof *scan.group_lines);
    int rc = scan.key_lines == NULL || scan.group_lines == NULL ? nb_error_no_memory(error)
                                                                : scan_lines(&scan, text, length);
    if (rc == 0)
        rc = read_values(config, text, length, &scan, count);
    free(scan.group_lines);
    free(scan.key_lines);
    return rc;
}

/* Fills `text` (room for MOST_BYTES + 1: one more than allowed shows that there is more). */
static int read_file(const char *path, char *text, size_t *length, struct nb_error *error)
{
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return nb_error_errno(error, errno, path);
    errno = 0;
    *length = fread(text, 1, MOST_BYTES + 1, in);
    int rc = ferror(in) ? nb_error_errno(error, errno, path) : 0;
    (void)fclose(in); /* only read from: nothing can be lost */
    return rc;
}

int nb_config_load(struct nb_config *config, const char *path, struct nb_error *error)
{
    size_t length = 0;
    char *text = malloc(MOST_BYTES + 1);
    if (text == NULL)
        return nb_error_no_memory(error);
    int rc = read_file(path, text, &length, error);
    if (rc == 0)
        rc = nb_config_parse(config, text, length, path, error);
    free(text);
    return rc;
}

/* ---- environment ----------------------------------------------------------------------------- */

/* Whether `name` (without the prefix) is GROUP_KEY of the option. */
static bool names_option(struct nb_string name, const struct nb_option *option)
{
    size_t group = strlen(option->group), key = strlen(option->key);
    if (name.length != group + 1 + key || name.bytes[group] != '_')
        return false;
    for (size_t i = 0; i < name.length; i++) {
        char want = i < group ? option->group[i] : i == group ? '_' : option->key[i - group - 1];
        if (name.bytes[i] != toupper((unsigned char)want))
            return false;
    }
    return true;
}

static int take_variable(struct nb_config *config, const char *variable, struct nb_error *error)
{
    size_t count, length = strcspn(variable, "=");
    const struct nb_option *options = nb_option_table(&count);
    const size_t prefix = strlen(ENVIRONMENT_PREFIX);
    struct nb_string whole = {variable, length};
    char where[WHERE_BYTES];
    (void)snprintf(where, sizeof where, "environment: %.*s", shown(whole), whole.bytes);
    for (size_t i = 0; i < count; i++)
        if (names_option((struct nb_string){variable + prefix, length - prefix}, &options[i]))
            return nb_value_set(config, &options[i],
                                variable[length] == '=' ? variable + length + 1 : "", where, error);
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
