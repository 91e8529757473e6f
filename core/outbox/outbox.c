/* SPDX-License-Identifier: Apache-2.0 */
#include "core/outbox/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/outbox/outbox_file.h"

enum { ROOM = 2 /* times the bytes that may wait is what the file may have of entries */ };

/* ---- opening --------------------------------------------------------------------------------- */

/* Cuts off what follows the last whole entry, unless it was acknowledged. */
static int check_end(struct nb_outbox *o, uint64_t size, struct nb_error *error)
{
    int rc = o->end == size ? 0 : nb_outbox_file_check(o, size, error);
    if (rc != 0 || o->end == size)
        return rc;
    return ftruncate(o->file, (off_t)o->end) == 0
               ? 0
               : nb_error_errno(error, errno, "shortening the outbox");
}

static int read_file(struct nb_outbox *o, struct nb_error *error)
{
    uint64_t size;
    int rc = nb_outbox_file_read(o, &size, error);
    if (rc == 0 && size != 0)
        rc = check_end(o, size, error);
    return rc == 0 && o->entries == 0 ? nb_outbox_file_begin(o, error) : rc;
}

int nb_outbox_open(const char *folder, const struct nb_outbox_limits *limits,
                   struct nb_outbox **outbox, struct nb_error *error)
{
    struct nb_outbox *o = calloc(1, sizeof *o);
    if (o == NULL)
        return nb_error_no_memory(error);
    o->file = -1;
    o->limits = *limits;
    pthread_mutex_init(&o->lock, NULL);
    int rc = nb_outbox_file_open(o, folder, error);
    if (rc == 0)
        rc = read_file(o, error);
    if (rc == 0)
        *outbox = o;
    else
        nb_outbox_close(&o);
    return rc;
}

void nb_outbox_close(struct nb_outbox **outbox)
{
    struct nb_outbox *o = *outbox;
    *outbox = NULL;
    if (o == NULL)
        return;
    if (o->file >= 0)
        (void)close(o->file); /* all is synced */
    nb_buffer_deinit(&o->written);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

uint64_t nb_outbox_identity(const struct nb_outbox *o)
{
    return o->identity;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static int check_room(const struct nb_outbox *o, const struct nb_string *messages, size_t count,
                      struct nb_error *error)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += messages[i].length;
    if (o->entries + count <= o->limits.entries && o->bytes + bytes <= o->limits.bytes &&
        o->end + bytes <= NB_OUTBOX_START + (uint64_t)ROOM * (o->limits.bytes +
                                                              NB_OUTBOX_RECORD * o->limits.entries))
        return 0;
    if (o->limits.entries == 0)
        return nb_error_set(error, NB_STOPPING,
                            "changes that were queued are not made yet: send the change again "
                            "later");
    return nb_error_set(error, NB_STOPPING,
                        "the cluster's stream is away, and the outbox is full (%llu changes, %llu "
                        "bytes): send the change again later",
                        (unsigned long long)o->entries, (unsigned long long)o->bytes);
}

static int write_messages(struct nb_outbox *o, const struct nb_string *messages, size_t count,
                          struct nb_error *error)
{
    uint64_t before = o->before;
    o->written.length = 0;
    for (size_t i = 0; i < count; i++)
        if (nb_outbox_entry_write(o, messages[i], o->next + i, o->end, &before, &o->written) != 0)
            return nb_error_no_memory(error);
    int rc = nb_outbox_write_at(o, nb_buffer_string(&o->written), o->end, error);
    if (rc == 0)
        o->before = before;
    /* If it cannot be cut off, the next entry is written over it. */
    bool is_cut = rc == 0 || ftruncate(o->file, (off_t)o->end) == 0;
    (void)is_cut;
    return rc;
}

int nb_outbox_add(struct nb_outbox *o, const struct nb_string *messages, size_t count,
                  struct nb_error *error)
{
    pthread_mutex_lock(&o->lock);
    int rc = check_room(o, messages, count, error);
    if (rc == 0)
        rc = write_messages(o, messages, count, error);
    if (rc == 0) {
        o->end += o->written.length;
        o->next += count;
        o->entries += count;
        o->bytes += o->written.length - (uint64_t)NB_OUTBOX_RECORD * count;
    }
    nb_buffer_trim(&o->written);
    pthread_mutex_unlock(&o->lock);
    return rc;
}

/* ---- taking ---------------------------------------------------------------------------------- */

int nb_outbox_first(struct nb_outbox *o, uint64_t *entry, struct nb_buffer *message,
                    struct nb_error *error)
{
    struct nb_outbox_record record = {.entry = 0};
    pthread_mutex_lock(&o->lock);
    uint64_t start = o->start;
    int rc = o->entries > 0 ? nb_outbox_entry_read(o, start, o->end, &record, message) : 0;
    pthread_mutex_unlock(&o->lock);
    if (rc == NB_CORRUPT)
        return nb_error_set(error, NB_IO,
                            "the file 'outbox' of the data directory is damaged at byte %llu, "
                            "where the oldest change lies: stop the daemon, and bayesd --rebuild "
                            "keeps those that can be read",
                            (unsigned long long)start);
    if (rc == NB_IO)
        return nb_outbox_unreadable(error);
    *entry = record.entry;
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

void nb_outbox_remove(struct nb_outbox *o, uint64_t entry)
{
    struct nb_outbox_record record;
    uint64_t before = 0;
    pthread_mutex_lock(&o->lock);
    /* A number that does not ascend is none: the disk has changed it. */
    while (o->entries > 0 && nb_outbox_record_read(o, o->start, &record) == 0 &&
           record.entry > before && record.entry <= entry && record.length <= o->bytes) {
        before = record.entry;
        o->start += NB_OUTBOX_RECORD + record.length;
        o->entries--;
        o->bytes -= record.length;
    }
    /* Not synced: what comes back was made already, and is passed over. */
    if (o->entries == 0 && o->end > NB_OUTBOX_START && ftruncate(o->file, NB_OUTBOX_START) == 0) {
        o->start = o->end = NB_OUTBOX_START;
        o->before = 0;
    }
    pthread_mutex_unlock(&o->lock);
}

uint64_t nb_outbox_entries(struct nb_outbox *o, uint64_t *bytes)
{
    pthread_mutex_lock(&o->lock);
    uint64_t entries = o->entries;
    if (bytes != NULL)
        *bytes = o->bytes;
    pthread_mutex_unlock(&o->lock);
    return entries;
}
