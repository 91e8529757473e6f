/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "server/client/files/read_file.h"

enum { DEPTH_MOST = 64 /* folders within folders */ };

struct walk {
    const struct nb_files *files; /* NULL: only the bytes of the files are added up */
    const struct nb_files_options *options;
    struct nb_buffer path; /* owned: the present path, with a NUL that `length` does not count */
    uint64_t bytes;
    struct nb_error *error;
};

static int walk_folder(struct walk *walk, struct nb_string label, int depth);

/* ---- names ----------------------------------------------------------------------------------- */

/* Cuts the path to `length` bytes and appends "/name". */
static int set_path(struct walk *walk, size_t length, const char *name)
{
    walk->path.length = length;
    int rc = nb_buffer_printf(&walk->path, length > 0 ? "/%s" : "%s", name);
    return rc == 0 ? 0 : nb_error_no_memory(walk->error);
}

static void cut_path(struct walk *walk, size_t length)
{
    walk->path.length = length;
    walk->path.bytes[length] = '\0';
}

static bool has_folder(struct walk *walk, const char *name)
{
    struct stat status;
    size_t length = walk->path.length;
    if (set_path(walk, length, name) != 0)
        return false;
    bool has = stat(walk->path.bytes, &status) == 0 && S_ISDIR(status.st_mode);
    cut_path(walk, length);
    return has;
}

/* Returns whether the flags in the name of a mail, "unique:2,ST", mark it as trash or as a draft
 * (maildir(5)). */
static bool is_marked(const char *name)
{
    const char *flags = strstr(name, ":2,");
    return flags != NULL && strpbrk(flags + 3, "TD") != NULL;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void skip(struct walk *walk, const char *reason)
{
    if (walk->files != NULL)
        walk->files->tell(walk->files->user, NB_FILE_UNREAD, walk->path.bytes, reason);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int walk_file(struct walk *walk, const struct stat *status, struct nb_string label,
                     const char *format)
{
    walk->bytes += (uint64_t)status->st_size;
    if (walk->files == NULL)
        return 0;
    return nb_read_file(walk->files, walk->path.bytes, label, format, walk->error);
}

/* A symbolic link is followed to a file but not to a folder: links to folders could form a loop. */
static int walk_entry(struct walk *walk, const char *name, struct nb_string label, int depth)
{
    struct stat status;
    if (name[0] == '.' || lstat(walk->path.bytes, &status) != 0 ||
        (S_ISLNK(status.st_mode) &&
         (stat(walk->path.bytes, &status) != 0 || S_ISDIR(status.st_mode))))
        return 0; /* hidden, removed in the meantime, or a link that is not followed */
    if (S_ISDIR(status.st_mode) && walk->options->by_folder && depth == 0)
        label = nb_string_of(name);
    if (S_ISDIR(status.st_mode))
        return walk_folder(walk, label, depth + 1);
    return S_ISREG(status.st_mode) ? walk_file(walk, &status, label, walk->options->format) : 0;
}

/* ---- Maildir --------------------------------------------------------------------------------- */

/* Calls `enter` with the path and the name of each entry of the present folder, sorted by bytes. */
static int each_entry(struct walk *walk, struct nb_string label, int depth,
                      int (*enter)(struct walk *walk, const char *name, struct nb_string label,
                                   int depth))
{
    struct dirent **entries;
    int rc = 0, count = scandir(walk->path.bytes, &entries, NULL, by_bytes);
    size_t length = walk->path.length;
    if (count < 0) {
        skip(walk, strerror(errno));
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (rc == 0)
            rc = set_path(walk, length, entries[i]->d_name);
        if (rc == 0)
            rc = enter(walk, entries[i]->d_name, label, depth);
        cut_path(walk, length);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static int walk_mail(struct walk *walk, const char *name, struct nb_string label, int depth)
{
    struct stat status;
    (void)depth;
    bool is_mail = name[0] != '.' && !is_marked(name) && stat(walk->path.bytes, &status) == 0 &&
                   S_ISREG(status.st_mode);
    return is_mail ? walk_file(walk, &status, label, "file") : 0;
}

static int walk_mails(struct walk *walk, const char *folder, struct nb_string label)
{
    size_t length = walk->path.length;
    int rc = set_path(walk, length, folder);
    if (rc == 0)
        rc = each_entry(walk, label, 0, walk_mail);
    cut_path(walk, length);
    return rc;
}

static int walk_maildir(struct walk *walk, struct nb_string label)
{
    int rc = has_folder(walk, "cur") ? walk_mails(walk, "cur", label) : 0;
    return rc == 0 && has_folder(walk, "new") ? walk_mails(walk, "new", label) : rc;
}

/* Returns whether the Maildir++ folder ".name" is read; sets *label if --folder gives it a label.
 */
static bool folder_label(const struct nb_files_options *options, const char *name,
                         struct nb_string *label)
{
    static const char *const LEFT_OUT[] = {"Trash", "Drafts", "Templates"};
    for (size_t i = 0; i < options->folders.count; i++) {
        const char *rule = options->folders.items[i];
        size_t length = strcspn(rule, "=");
        if (!nb_string_equals((struct nb_string){rule, length}, name))
            continue;
        *label = nb_string_of(rule[length] == '=' ? rule + length + 1 : "");
        return label->length > 0;
    }
    for (size_t i = 0; i < sizeof LEFT_OUT / sizeof LEFT_OUT[0]; i++)
        if (strcasecmp(name, LEFT_OUT[i]) == 0)
            return false;
    return options->is_recursive;
}

static int walk_maildir_folder(struct walk *walk, const char *name, struct nb_string label,
                               int depth)
{
    (void)depth;
    bool is_wanted = name[0] == '.' && name[1] != '.' && name[1] != '\0' &&
                     folder_label(walk->options, name + 1, &label);
    return is_wanted ? walk_maildir(walk, label) : 0;
}

/* ---- folders --------------------------------------------------------------------------------- */

static int walk_folder(struct walk *walk, struct nb_string label, int depth)
{
    if (depth > DEPTH_MOST) {
        skip(walk, "folders are nested too deeply");
        return 0;
    }
    if (!has_folder(walk, "cur") || !has_folder(walk, "new"))
        return each_entry(walk, label, depth, walk_entry);
    int rc = 0;
    /* When --folder names folders, the inbox is read only if it has a label of its own. */
    if (label.length > 0 || walk->options->folders.count == 0)
        rc = walk_maildir(walk, label);
    return rc == 0 ? each_entry(walk, label, 0, walk_maildir_folder) : rc;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Splits LABEL=PATH, unless a file has that whole name or PATH is empty. */
static struct nb_string label_of(const struct nb_files_options *options, const char **path)
{
    struct stat status;
    const char *equals = strchr(*path, '=');
    if (equals == NULL || equals == *path || equals[1] == '\0' || stat(*path, &status) == 0)
        return nb_string_of(options->label);
    struct nb_string label = {*path, (size_t)(equals - *path)};
    *path = equals + 1;
    return label;
}

static int walk_path(struct walk *walk, const char *path)
{
    struct stat status;
    struct nb_string label = label_of(walk->options, &path);
    if (strcmp(path, "-") == 0)
        return walk->files == NULL
                   ? 0
                   : nb_read_file(walk->files, path, label, walk->options->format, walk->error);
    walk->path.length = 0;
    int rc = set_path(walk, 0, path);
    if (rc != 0)
        return rc;
    if (stat(path, &status) != 0)
        skip(walk, strerror(errno));
    else if (S_ISDIR(status.st_mode))
        return walk_folder(walk, label, 0);
    else
        return walk_file(walk, &status, label, walk->options->format);
    return 0;
}

static int walk_paths(struct walk *walk, char *const *paths, size_t count)
{
    int rc = count == 0 ? walk_path(walk, "-") : 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = walk_path(walk, paths[i]);
    nb_buffer_deinit(&walk->path);
    return rc;
}

static bool is_format(const struct nb_files_options *options, const char *name)
{
    return options->format != NULL && strcmp(options->format, name) == 0;
}

/* Refuses options that would have no effect: the user must have meant something else. */
static int check_options(const struct nb_files_options *o, struct nb_error *error)
{
    bool is_mbox = is_format(o, "mbox"), is_lines = is_format(o, "lines");
    if (o->is_text && o->is_mail)
        return nb_error_set(error, NB_CLIENT_USAGE, "--text and --mail exclude each other");
    if (o->columns != NULL &&
        (is_mbox || is_lines || is_format(o, "file") || is_format(o, "index")))
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "--columns is of tables and JSON lines: with --format %s there are no "
                            "columns; csv, tsv and ndjson have them",
                            o->format);
    if (o->charset != NULL && (is_mbox || o->is_mail))
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "--charset is of texts and tables: mails say their charsets");
    if ((o->is_text && is_mbox) || (o->is_mail && is_lines))
        return nb_error_set(error, NB_CLIENT_USAGE, "--%s does not go with --format %s",
                            o->is_text ? "text" : "mail", o->format);
    return 0;
}

int nb_files_read(const struct nb_files *files, char *const *paths, size_t count,
                  struct nb_error *error)
{
    struct walk walk = {.files = files, .options = files->options, .error = error};
    int rc = check_options(files->options, error);
    return rc == 0 ? walk_paths(&walk, paths, count) : rc;
}

uint64_t nb_files_bytes(const struct nb_files_options *options, char *const *paths, size_t count)
{
    struct nb_error error;
    struct walk walk = {.options = options, .error = &error};
    bool is_known = count > 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(paths[i]);
        is_known = is_known && paths[i][length > 0 ? length - 1 : 0] != '-';
    }
    /* The files that an index lists are not below the path. */
    if (!is_known || (options->format != NULL && strcmp(options->format, "index") == 0))
        return 0;
    return walk_paths(&walk, paths, count) == 0 ? walk.bytes : 0;
}
