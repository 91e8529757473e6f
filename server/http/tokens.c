/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/tokens.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/array.h"
#include "core/base/string.h"
#include "server/http/address.h"

enum { PATTERN_MOST = 128 };

/* Takes the next pattern off a list; false when there is none left. */
static bool take_pattern(struct nb_string *list, struct nb_string *pattern)
{
    if (list->bytes == NULL)
        return false;
    const char *comma = memchr(list->bytes, ',', list->length);
    *pattern = (struct nb_string){list->bytes,
                                  comma != NULL ? (size_t)(comma - list->bytes) : list->length};
    if (comma != NULL)
        *list = nb_string_from(*list, pattern->length + 1);
    else
        *list = (struct nb_string){NULL, 0};
    return true;
}

bool nb_models_are_patterns(struct nb_string text)
{
    struct nb_string pattern;
    while (take_pattern(&text, &pattern)) {
        if (pattern.length == 0 || pattern.length > PATTERN_MOST)
            return false;
        for (size_t i = 0; i < pattern.length; i++) {
            char c = pattern.bytes[i];
            if (c == '\0' || (!nb_ascii_is_alphanumeric(c) && strchr("._@+-*?", c) == NULL))
                return false;
        }
    }
    return true;
}

bool nb_models_are_all(const char *patterns)
{
    struct nb_string list = nb_string_of(patterns), pattern;
    while (take_pattern(&list, &pattern)) {
        if (nb_string_equals(pattern, "*"))
            return true;
    }
    return false;
}

/* fnmatch is not used: its time grows exponentially with the number of stars. After a mismatch it
 * is enough to let the last star take one byte more (the earlier ones have already found their
 * leftmost places). */
static bool matches(struct nb_string pattern, struct nb_string name)
{
    size_t p = 0, n = 0, star = pattern.length, taken = 0;
    while (n < name.length) {
        if (p < pattern.length && pattern.bytes[p] == '*') {
            star = p++;
            taken = n;
        } else if (p < pattern.length &&
                   (pattern.bytes[p] == '?' || pattern.bytes[p] == name.bytes[n])) {
            p++;
            n++;
        } else if (star < pattern.length) {
            p = star + 1;
            n = ++taken;
        } else {
            return false;
        }
    }
    while (p < pattern.length && pattern.bytes[p] == '*')
        p++;
    return p == pattern.length;
}

bool nb_models_match(const char *patterns, struct nb_string name)
{
    struct nb_string list = nb_string_of(patterns), pattern;
    while (take_pattern(&list, &pattern)) {
        if (matches(pattern, name))
            return true;
    }
    return false;
}

int nb_models_check(const char *patterns, struct nb_string name, struct nb_error *error)
{
    if (nb_models_match(patterns, name))
        return 0;
    return nb_error_set(error, NB_FORBIDDEN, "this token is for the models %s only, not for '%.*s'",
                        patterns, (int)(name.length < 128 ? name.length : 128), name.bytes);
}

static_assert(NB_TOKEN_HASH == crypto_hash_sha256_BYTES, "a hash of SHA-256");

static const char HASHED[] = "sha256:";
static const char *const ROLES[] = {
    [NB_ROLE_CLASSIFY] = "classify", [NB_ROLE_TRAIN] = "train", [NB_ROLE_ADMIN] = "admin"};
static_assert(sizeof ROLES / sizeof ROLES[0] == NB_ROLE_ADMIN + 1, "a name for each role");

bool nb_token_is_name(struct nb_string text)
{
    static const char NAME[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";
    size_t i = 0;
    while (i < text.length && text.bytes[i] != '\0' && strchr(NAME, text.bytes[i]) != NULL)
        i++;
    return i == text.length && i > 0 && i < NB_TOKEN_NAME;
}

bool nb_token_is_hash(struct nb_string text)
{
    return nb_string_starts(text, HASHED);
}

bool nb_token_read_hash(struct nb_string text, struct nb_token *token)
{
    size_t length = 0;
    const char *end;
    if (!nb_token_is_hash(text)) {
        (void)crypto_hash_sha256(token->hash, (const unsigned char *)text.bytes, text.length);
        return text.length >= NB_TOKEN_LEAST;
    }
    struct nb_string digits = nb_string_from(text, sizeof HASHED - 1);
    return sodium_hex2bin(token->hash, sizeof token->hash, digits.bytes, digits.length, NULL,
                          &length, &end) == 0 &&
           length == NB_TOKEN_HASH && end == digits.bytes + digits.length;
}

void nb_token_print_hash(const struct nb_token *token, char text[NB_TOKEN_HASH_TEXT])
{
    static_assert(sizeof HASHED - 1 + (size_t)2 * NB_TOKEN_HASH + 1 == NB_TOKEN_HASH_TEXT,
                  "it fits");
    size_t length = sizeof HASHED - 1;
    memcpy(text, HASHED, length);
    (void)sodium_bin2hex(text + length, NB_TOKEN_HASH_TEXT - length, token->hash,
                         sizeof token->hash); /* it fits */
}

void nb_token_make(struct nb_token *token, char text[NB_TOKEN_TEXT])
{
    unsigned char random[32];
    char digits[sodium_base64_ENCODED_LEN(sizeof random, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    static_assert(sizeof "bayesd_" - 1 + sizeof digits <= NB_TOKEN_TEXT, "it fits");
    randombytes_buf(random, sizeof random);
    (void)sodium_bin2base64(digits, sizeof digits, random, sizeof random,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    /* The prefix lets programs that search public places for secrets recognize it. */
    (void)snprintf(text, NB_TOKEN_TEXT, "bayesd_%s", digits); /* it fits */
    (void)crypto_hash_sha256(token->hash, (const unsigned char *)text, strlen(text));
    sodium_memzero(random, sizeof random);
    sodium_memzero(digits, sizeof digits);
}

const char *nb_role_name(enum nb_role role)
{
    assert(role != NB_ROLE_NONE);
    return ROLES[role];
}

enum nb_role nb_role_read(struct nb_string text)
{
    for (enum nb_role role = NB_ROLE_CLASSIFY; role <= NB_ROLE_ADMIN; role++) {
        if (nb_string_equals(text, ROLES[role]))
            return role;
    }
    return NB_ROLE_NONE;
}

/* Takes the name off "NAME=TOKEN". If the "=" is part of a token's own end, the text after it is
 * too short for a token: such an item has no name. */
static void take_name(struct nb_string *item, struct nb_token *token)
{
    const char *equals = memchr(item->bytes, '=', item->length);
    size_t length = equals != NULL ? (size_t)(equals - item->bytes) : 0;
    if (!nb_token_is_name((struct nb_string){item->bytes, length}) ||
        item->length - length - 1 < NB_TOKEN_LEAST)
        return;
    assert(length < sizeof token->name); /* nb_token_is_name has checked it */
    memcpy(token->name, item->bytes, length);
    *item = nb_string_from(*item, length + 1);
}

static int read_list(struct nb_tokens *tokens, const char *list, enum nb_role role,
                     struct nb_error *error)
{
    struct nb_string item;
    int rc = 0;
    for (size_t i = 1; nb_list_next(&list, &item) && rc == 0; i++) {
        struct nb_token token = {.role = role, .models = "*"};
        take_name(&item, &token);
        tokens->has_plain |= !nb_token_is_hash(item);
        if (!nb_token_read_hash(item, &token))
            return nb_error_set(error, NB_INVALID,
                                "[tokens] %s: token %zu must have at least %d characters, or be "
                                "sha256: and the 64 hexadecimal digits of its SHA-256",
                                nb_role_name(role), i, NB_TOKEN_LEAST);
        rc = nb_tokens_add(tokens, &token, error);
    }
    return rc;
}

int nb_tokens_read(struct nb_tokens *tokens, const struct nb_config *config, struct nb_error *error)
{
    *tokens = (struct nb_tokens){.all = NULL};
    int rc = read_list(tokens, config->tokens_classify, NB_ROLE_CLASSIFY, error);
    if (rc == 0)
        rc = read_list(tokens, config->tokens_train, NB_ROLE_TRAIN, error);
    if (rc == 0)
        rc = read_list(tokens, config->tokens_admin, NB_ROLE_ADMIN, error);
    if (rc != 0)
        nb_tokens_deinit(tokens);
    return rc;
}

void nb_tokens_deinit(struct nb_tokens *tokens)
{
    free(tokens->all);
    *tokens = (struct nb_tokens){.all = NULL};
}

int nb_tokens_add(struct nb_tokens *tokens, const struct nb_token *token, struct nb_error *error)
{
    assert(token->role >= NB_ROLE_CLASSIFY && token->role <= NB_ROLE_ADMIN);
    if (nb_array_reserve(&tokens->all, &tokens->room, tokens->count + 1, sizeof *token) != 0)
        return nb_error_no_memory(error);
    tokens->all[tokens->count++] = *token;
    return 0;
}

int nb_tokens_list(const struct nb_tokens *tokens, enum nb_role role, struct nb_buffer *out)
{
    assert(role != NB_ROLE_NONE);
    char hash[NB_TOKEN_HASH_TEXT];
    const char *between = "";
    int rc = 0;
    for (size_t i = 0; i < tokens->count && rc == 0; i++) {
        const struct nb_token *token = &tokens->all[i];
        if (token->role != role)
            continue;
        nb_token_print_hash(token, hash);
        rc = nb_buffer_printf(out, "%s%s%s%s", between, token->name,
                              token->name[0] != '\0' ? "=" : "", hash);
        between = ", ";
    }
    return rc;
}

const struct nb_token *nb_tokens_named(const struct nb_tokens *tokens, struct nb_string name)
{
    for (size_t i = 0; i < tokens->count; i++) {
        if (nb_string_equals(name, tokens->all[i].name))
            return &tokens->all[i];
    }
    return NULL;
}

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

int nb_token_file_read(const char *path, struct nb_tokens *tokens, struct nb_error *error)
{
    struct nb_buffer text = {0};
    int failure = nb_buffer_read_file(&text, path, NB_TOKEN_FILE_BYTES);
    int rc;
    if (failure == EFBIG)
        rc = nb_error_set(error, NB_INVALID, "%s: more than %d bytes are no file of tokens", path,
                          NB_TOKEN_FILE_BYTES);
    else if (failure != 0)
        rc = nb_error_errno(error, failure, path);
    else
        rc = nb_token_file_parse(nb_buffer_string(&text), path, tokens, error);
    nb_buffer_deinit(&text);
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

int nb_token_file_print(const struct nb_tokens *tokens, struct nb_buffer *out)
{
    char hash[NB_TOKEN_HASH_TEXT];
    int rc = nb_buffer_puts(out, "# Access tokens of bayesd, written by bayesd --new-token: name, "
                                 "role, date, models, hash.\n");
    for (size_t i = 0; i < tokens->count && rc == 0; i++) {
        const struct nb_token *token = &tokens->all[i];
        assert(token->name[0] != '\0'); /* a line without a name could not be read again */
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
