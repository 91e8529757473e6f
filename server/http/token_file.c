/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/string.h"
#include "server/http/tokens.h"

void nb_token_file_path(const struct nb_config *config, char path[NB_TOKEN_FILE_PATH])
{
    /* Both paths fit: the options have at most 4,095 bytes. */
    if (config->tokens_file[0] != '\0')
        (void)snprintf(path, NB_TOKEN_FILE_PATH, "%s", config->tokens_file);
    else
        (void)snprintf(path, NB_TOKEN_FILE_PATH, "%s/tokens", config->data);
}

/* ---- reading --------------------------------------------------------------------------------- */

enum { FIELDS = 5 };

/* Splits a line at blanks. Returns how many fields it has, at most one more than `FIELDS`. */
static size_t split(struct nb_string line, struct nb_string fields[FIELDS])
{
    size_t count = 0;
    for (;;) {
        line = nb_string_trim_start(line, " \t");
        size_t length = 0;
        while (length < line.length && line.bytes[length] != ' ' && line.bytes[length] != '\t')
            length++;
        if (length == 0 || count == FIELDS)
            return length == 0 ? count : FIELDS + 1;
        fields[count++] = (struct nb_string){line.bytes, length};
        line = nb_string_from(line, length);
    }
}

static bool is_date(struct nb_string text)
{
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] == '\0' || strchr("0123456789-:TZ.", text.bytes[i]) == NULL)
            return false;
    }
    return text.length > 0 && text.length < NB_TOKEN_DATE;
}

static void copy(char *to, struct nb_string text)
{
    memcpy(to, text.bytes, text.length);
    to[text.length] = '\0';
}

/* Returns NULL or the fault. */
static const char *read_token(struct nb_string line, struct nb_token *token)
{
    struct nb_string fields[FIELDS];
    if (split(line, fields) != FIELDS)
        return "a line must be: NAME ROLE CREATED MODELS sha256:HEX";
    token->role = nb_role_read(fields[1]);
    if (!nb_token_is_name(fields[0]))
        return "a name has 1 to 64 letters, digits and ._-@";
    if (token->role == NB_ROLE_NONE)
        return "the role must be classify, train or admin";
    if (!is_date(fields[2]))
        return "the third field must be a date such as 2026-01-31T12:00:00Z";
    if (fields[3].length >= sizeof token->models || !nb_models_are_patterns(fields[3]))
        return "the fourth field must be patterns of models, such as * or user-*,mail";
    if (!nb_token_is_hash(fields[4]) || !nb_token_read_hash(fields[4], token))
        return "the last field must be sha256: and 64 hexadecimal digits";
    token->is_made = true;
    copy(token->name, fields[0]);
    copy(token->created, fields[2]);
    copy(token->models, fields[3]);
    return NULL;
}

int nb_token_file_parse(struct nb_string text, const char *path, struct nb_tokens *tokens,
                        struct nb_error *error)
{
    const char *at = text.bytes, *end = text.bytes + text.length;
    size_t first = tokens->count;
    int rc = 0;
    for (size_t number = 1; at < end && rc == 0; number++) {
        const char *next = nb_lines_next(at, end);
        struct nb_string line =
            nb_string_trim_end((struct nb_string){at, (size_t)(next - at)}, "\r\n \t");
        struct nb_token token = {.role = NB_ROLE_NONE};
        at = next;
        if (line.length == 0 || line.bytes[0] == '#')
            continue;
        const char *wrong = read_token(line, &token);
        if (wrong == NULL && nb_tokens_named(tokens, nb_string_of(token.name)) != NULL)
            wrong = "another token has this name, here or in the configuration";
        if (wrong == NULL && tokens->count - first == NB_TOKEN_FILE_MOST)
            wrong = "there are too many tokens";
        if (wrong != NULL)
            return nb_error_set(error, NB_INVALID, "%s:%zu: %s", path, number, wrong);
        rc = nb_tokens_add(tokens, &token, error);
    }
    return rc;
}

static int read_all(int file, struct nb_buffer *out)
{
    for (;;) {
        if (out->length > NB_TOKEN_FILE_BYTES)
            return NB_TOO_LARGE;
        if (nb_buffer_reserve(out, 65536) != 0)
            return NB_NO_MEMORY;
        ssize_t n = read(file, out->bytes + out->length, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? 0 : NB_IO;
        out->length += (size_t)n;
    }
}

int nb_token_file_read(const char *path, struct nb_tokens *tokens, struct nb_error *error)
{
    struct nb_buffer text = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0)
        return nb_error_errno(error, errno, path);
    int rc = read_all(file, &text);
    if (rc == NB_TOO_LARGE)
        (void)nb_error_set(error, NB_INVALID, "%s: more than %d bytes are no file of tokens", path,
                           NB_TOKEN_FILE_BYTES);
    else if (rc != 0)
        rc = nb_error_errno(error, rc == NB_NO_MEMORY ? ENOMEM : errno, path);
    else
        rc = nb_token_file_parse((struct nb_string){text.bytes, text.length}, path, tokens, error);
    (void)close(file); /* the file was only read */
    nb_buffer_deinit(&text);
    return rc == NB_TOO_LARGE ? NB_INVALID : rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

int nb_token_file_print(const struct nb_tokens *tokens, struct nb_buffer *out)
{
    char hash[NB_TOKEN_HASH_TEXT];
    int rc = nb_buffer_puts(out, "# Access tokens of bayesd, written by bayesd --new-token: name, "
                                 "role, date, models, hash.\n");
    for (size_t i = 0; i < tokens->count && rc == 0; i++) {
        const struct nb_token *token = &tokens->all[i];
        nb_token_print_hash(token, hash);
        rc = nb_buffer_printf(out, "%s %s %s %s %s\n", token->name, nb_role_name(token->role),
                              token->created, token->models, hash);
    }
    return rc;
}

/* A file that is being replaced. */
struct update {
    const char *path;
    const char *name; /* the name of the file, behind the last "/" of `path` */
    int directory;    /* locked: one update at a time */
};

static int open_directory(struct update *update, struct nb_error *error)
{
    char folder[NB_TOKEN_FILE_PATH];
    const char *slash = strrchr(update->path, '/');
    size_t length = slash != NULL ? (size_t)(slash - update->path) : 0;
    update->name = slash != NULL ? slash + 1 : update->path;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)length, update->path);
    const char *name = slash == NULL ? "." : length == 0 ? "/" : folder;
    update->directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (update->directory < 0 && errno == ENOENT)
        return nb_error_set(error, NB_NOT_FOUND,
                            "there is no directory %s: the daemon makes that of its data when it "
                            "starts; [tokens] file names another place",
                            name);
    if (update->directory < 0)
        return nb_error_errno(error, errno, name);
    if (flock(update->directory, LOCK_EX) == 0)
        return 0;
    int rc = nb_error_errno(error, errno, name);
    (void)close(update->directory); /* the directory was only opened */
    return rc;
}

/* Gives the file to the owner of the old file, or of its directory, so that the daemon can read
 * a file written by root. */
static int give_to_owner(const struct update *update, int file)
{
    struct stat owner;
    if (geteuid() != 0)
        return 0;
    if (fstatat(update->directory, update->name, &owner, AT_SYMLINK_NOFOLLOW) != 0 &&
        fstat(update->directory, &owner) != 0)
        return NB_IO;
    return fchown(file, owner.st_uid, owner.st_gid) == 0 ? 0 : NB_IO;
}

static int write_all(int file, const struct nb_buffer *text)
{
    size_t done = 0;
    while (done < text->length) {
        ssize_t n = write(file, text->bytes + done, text->length - done);
        if (n < 0 && errno != EINTR)
            return NB_IO;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int replace(const struct update *update, const struct nb_buffer *text,
                   struct nb_error *error)
{
    char part[NB_TOKEN_FILE_PATH + 8];
    (void)snprintf(part, sizeof part, "%s.part", update->name); /* it fits */
    (void)unlinkat(update->directory, part, 0); /* left by an interrupted update; usually none */
    int file =
        openat(update->directory, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return nb_error_errno(error, errno, update->path);
    int rc = give_to_owner(update, file);
    if (rc == 0)
        rc = write_all(file, text);
    if (rc == 0 && fsync(file) != 0)
        rc = NB_IO;
    if (rc == 0 && renameat(update->directory, part, update->directory, update->name) != 0)
        rc = NB_IO;
    if (rc != 0) {
        rc = nb_error_errno(error, errno, update->path);
        (void)unlinkat(update->directory, part, 0); /* best effort */
    }
    (void)close(file); /* the file was synced, or is removed */
    if (rc == 0 && fsync(update->directory) != 0)
        rc = nb_error_errno(error, errno, update->path);
    return rc;
}

int nb_token_file_update(const char *path, nb_token_file_change *change, void *user,
                         struct nb_error *error)
{
    struct update update = {.path = path};
    struct nb_tokens tokens = {.all = NULL};
    struct nb_buffer text = {0};
    int rc = open_directory(&update, error);
    if (rc != 0)
        return rc;
    rc = nb_token_file_read(path, &tokens, error);
    if (rc == 0 || rc == NB_NOT_FOUND)
        rc = change(user, &tokens, error);
    if (rc == 0 && nb_token_file_print(&tokens, &text) != 0)
        rc = nb_error_no_memory(error);
    nb_tokens_deinit(&tokens);
    if (rc == 0)
        rc = replace(&update, &text, error);
    (void)close(update.directory); /* unlocks it */
    nb_buffer_deinit(&text);
    return rc;
}
