/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/budget.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/platform/platform.h"

enum {
    FRESH_BYTES = 1024 * 1024,  /* a larger buffer lies in pages of its own (see server/main.c) */
    AROUND_BODY_BYTES = 1 << 20 /* memory for a body of the full size besides the body: its head, a
                                   piece that is read ahead, and its decoder */
};

void nb_budgets_limit(struct nb_budget *budgets, const struct nb_config *config)
{
    uint64_t one = config->body_bytes + AROUND_BODY_BYTES; /* a body of the full size always fits */
    const uint64_t most[NB_BUDGETS] = {
        [NB_BUDGET_BODIES] = config->body_memory > one ? config->body_memory : one,
        [NB_BUDGET_REPLIES] = config->reply_memory,
        [NB_BUDGET_SPOOLS] = config->spool_bytes,
        [NB_BUDGET_CLUSTERS] = config->cluster_memory,
    };
    for (unsigned kind = 0; kind < NB_BUDGETS; kind++) {
        /* `kind` is set only once, before there are other threads, because a refusal may read it at
         * any time. */
        if (budgets[kind].kind != (enum nb_budget_kind)kind)
            budgets[kind].kind = (enum nb_budget_kind)kind;
        atomic_store(&budgets[kind].most, most[kind]);
    }
}

static int refuse(const struct nb_budget *budget, struct nb_error *error)
{
    unsigned long long most = (unsigned long long)atomic_load(&budget->most);
    switch (budget->kind) {
    case NB_BUDGET_REPLIES:
        return nb_error_set(error, NB_NO_MEMORY,
                            "the replies that clients have not read yet fill the %llu bytes set "
                            "aside for them (reply_memory); try again later",
                            most);
    case NB_BUDGET_SPOOLS:
        return nb_error_set(error, NB_DISK_FULL,
                            "no space left for a long reply: the temporary files of all replies "
                            "fill the %llu bytes set aside for them (spool_bytes)",
                            most);
    case NB_BUDGET_CLUSTERS:
        return nb_error_set(error, NB_NO_MEMORY,
                            "the clusters that are being looked for fill the %llu bytes of memory "
                            "set aside for them (cluster_memory); try again later",
                            most);
    case NB_BUDGET_BODIES:
    case NB_BUDGETS:
    default:
        return nb_error_set(error, NB_NO_MEMORY,
                            "the bodies being received fill the %llu bytes of memory set aside "
                            "for them (body_memory); try again later",
                            most);
    }
}

/* Adds `extra` to the budget unless the sum would exceed the limit. Returns whether it did. */
static bool add(struct nb_budget *budget, uint64_t extra)
{
    uint64_t most = atomic_load(&budget->most), used = atomic_load(&budget->used);
    do {
        if (used > most || extra > most - used)
            return false;
    } while (!atomic_compare_exchange_weak(&budget->used, &used, used + extra));
    return true;
}

int nb_hold_set(struct nb_hold *hold, uint64_t size, struct nb_error *error)
{
    struct nb_budget *budget = hold->budget;
    if (budget != NULL && size > hold->size && !add(budget, size - hold->size))
        return refuse(budget, error);
    if (budget != NULL && size < hold->size) {
        uint64_t before = atomic_fetch_sub(&budget->used, hold->size - size);
        assert(before >= hold->size - size);
        (void)before;
    }
    hold->size = size;
    return 0;
}

uint64_t nb_held_by(const struct nb_buffer *buffer)
{
    assert(buffer->length <= buffer->capacity);
    return buffer->capacity < FRESH_BYTES ? buffer->capacity : buffer->length;
}

struct nb_spare {
    struct nb_buffer body; /* empty */
    uint64_t since;
};

static void free_spare(struct nb_spare *spare)
{
    if (spare == NULL)
        return;
    nb_buffer_deinit(&spare->body);
    free(spare);
}

/* Keeps this memory and frees the memory that was kept before. */
static void put(nb_spare_place *place, struct nb_spare *spare)
{
    assert(spare->body.length == 0 && spare->body.capacity >= NB_SPARE_LEAST);
    free_spare(atomic_exchange(place, spare));
}

void nb_spare_take(nb_spare_place *place, struct nb_buffer *body)
{
    struct nb_spare *spare = atomic_exchange(place, NULL);
    if (spare == NULL)
        return;
    if (spare->body.capacity <= body->capacity) {
        put(place, spare);
        return;
    }
    assert(spare->body.length == 0 && body->length < spare->body.capacity); /* it fits */
    if (body->length > 0)
        memcpy(spare->body.bytes, body->bytes, body->length);
    spare->body.length = body->length;
    nb_buffer_deinit(body);
    *body = spare->body;
    free(spare);
}

void nb_spare_give(nb_spare_place *place, struct nb_buffer *body, uint64_t now)
{
    bool is_kept = body->capacity >= NB_SPARE_LEAST && body->capacity <= NB_SPARE_MOST;
    struct nb_spare *spare = is_kept ? malloc(sizeof *spare) : NULL;
    if (spare == NULL) {
        nb_buffer_deinit(body);
        return;
    }
    *spare = (struct nb_spare){*body, now};
    spare->body.length = 0;
    nb_buffer_init(body);
    put(place, spare);
}

void nb_spare_drop(nb_spare_place *place, uint64_t before)
{
    if (atomic_load(place) == NULL)
        return;
    struct nb_spare *spare = atomic_exchange(place, NULL);
    if (spare == NULL)
        return;
    if (spare->since >= before)
        put(place, spare);
    else
        free_spare(spare);
}

/* Once there is a file, bytes are written to it in pieces of this size. */
enum { WRITE_BYTES = 256 * 1024 };

/* Prefix of the names of files, which have a name only for a moment. */
#define NAME ".bayesd-reply-"

static void remove_left(DIR *folder)
{
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, NAME, sizeof NAME - 1) == 0)
            (void)unlinkat(dirfd(folder), entry->d_name, 0); /* a remaining file does no harm */
    }
}

int nb_spool_prepare(const char *directory, struct nb_error *error)
{
    char what[256];
    (void)snprintf(what, sizeof what, "the directory of long replies %s (spool_directory)",
                   directory);
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return nb_error_errno(error, errno, what);
    DIR *folder = opendir(directory);
    if (folder == NULL)
        return nb_error_errno(error, errno, what);
    remove_left(folder);
    (void)closedir(folder); /* the folder was only read */
    return 0;
}

void nb_spool_init(struct nb_spool *spool, const char *directory, size_t memory,
                   struct nb_budget *budgets)
{
    *spool = (struct nb_spool){.directory = directory, .memory = memory, .file = -1};
    if (budgets != NULL) {
        spool->memory_hold.budget = &budgets[NB_BUDGET_REPLIES];
        spool->file_hold.budget = &budgets[NB_BUDGET_SPOOLS];
    }
}

void nb_spool_deinit(struct nb_spool *spool)
{
    nb_buffer_deinit(&spool->tail);
    if (spool->file >= 0)
        (void)close(spool->file); /* the file has no name: nothing can be lost */
    spool->file = -1;
    spool->written = 0;
    (void)nb_hold_set(&spool->memory_hold, 0, NULL); /* reducing a hold never fails */
    (void)nb_hold_set(&spool->file_hold, 0, NULL);
}

uint64_t nb_spool_length(const struct nb_spool *spool)
{
    return spool->written + spool->tail.length;
}

/* Opens the file. Makes the folder again if it was removed since the start. The error is never "not
 * found", which would blame the client. */
static int open_file(struct nb_spool *spool, struct nb_error *error)
{
    spool->file = nb_platform_nameless_file(spool->directory, NAME);
    if (spool->file < 0 && errno == ENOENT && mkdir(spool->directory, 0700) == 0)
        spool->file = nb_platform_nameless_file(spool->directory, NAME);
    if (spool->file >= 0)
        return 0;
    int rc = nb_error_errno(error, errno,
                            "temporary file for a long reply, in the folder that the option "
                            "[server] spool_directory names");
    return rc == NB_NOT_FOUND ? nb_error_set(error, NB_IO,
                                             "temporary file for a long reply: its directory "
                                             "(spool_directory) is missing")
                              : rc;
}

static int write_tail(struct nb_spool *spool, struct nb_error *error)
{
    size_t done = 0;
    assert(spool->file >= 0);
    while (done < spool->tail.length) {
        ssize_t n = write(spool->file, spool->tail.bytes + done, spool->tail.length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return nb_error_errno(error, errno,
                                  "temporary file for a long reply, in the folder that the option "
                                  "[server] spool_directory names");
        done += (size_t)n;
    }
    return 0;
}

static int flush(struct nb_spool *spool, struct nb_error *error)
{
    assert(spool->directory != NULL); /* nb_spool_init was called */
    int rc = nb_hold_set(&spool->file_hold, spool->written + spool->tail.length, error);
    if (rc != 0)
        return rc;
    if (spool->file < 0)
        rc = open_file(spool, error);
    if (rc == 0)
        rc = write_tail(spool, error);
    if (rc != 0)
        return rc;
    spool->written += spool->tail.length;
    spool->tail.length = 0;
    return 0;
}

/* Adjusts the hold to the memory of `tail`. Returns whether the budget has room for it, or it needs
 * none. */
static bool is_held(struct nb_spool *spool)
{
    size_t size = spool->tail.capacity <= NB_SPOOL_FREE_BYTES ? 0 : spool->tail.capacity;
    return nb_hold_set(&spool->memory_hold, size, NULL) == 0;
}

static void free_tail(struct nb_spool *spool)
{
    assert(spool->tail.length == 0);
    nb_buffer_deinit(&spool->tail);
    (void)nb_hold_set(&spool->memory_hold, 0, NULL); /* reducing a hold never fails */
}

int nb_spool_settle(struct nb_spool *spool, struct nb_error *error)
{
    size_t most = spool->file < 0 || spool->memory < WRITE_BYTES ? spool->memory : WRITE_BYTES;
    bool has_room = is_held(spool);
    if (has_room && spool->tail.length <= most)
        return 0;
    int rc = flush(spool, error);
    if (rc == 0 && !has_room)
        free_tail(spool);
    return rc;
}

int nb_spool_finish(struct nb_spool *spool, struct nb_error *error)
{
    if (spool->file < 0 && is_held(spool))
        return 0;
    int rc = flush(spool, error);
    if (rc == 0)
        free_tail(spool);
    return rc;
}
