/* SPDX-License-Identifier: Apache-2.0 */
#include "core/outbox/outbox.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/key.h"
#include "core/base/pack.h"

enum {
    HEAD_BYTES = 16,
    RECORD_BYTES = 24, /* before a message */
    ROOM = 2,          /* times the bytes that may wait is what the file may have of entries */
};
static const uint64_t MAGIC = UINT64_C(0x6f7574626f783031);

struct nb_outbox {
    int file;
    struct nb_outbox_limits limits;
    uint64_t identity;
    pthread_mutex_t lock; /* of what follows */
    uint64_t start, end;  /* of the entries, in the file */
    uint64_t next;        /* number of the next one */
    uint64_t entries, bytes;
    struct nb_buffer written;
};

struct record {
    uint64_t length, entry, checksum;
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static uint64_t checksum(const struct nb_outbox *o, uint64_t entry, struct nb_string message)
{
    return XXH3_64bits_withSeed(message.bytes, message.length, o->identity ^ entry);
}

static int read_at(const struct nb_outbox *o, void *bytes, size_t length, uint64_t at)
{
    size_t done = 0;
    while (done < length) {
        ssize_t n = pread(o->file, (char *)bytes + done, length - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return NB_IO;
        done += (size_t)n;
    }
    return 0;
}

static int write_at(const struct nb_outbox *o, struct nb_string bytes, uint64_t at,
                    struct nb_error *error)
{
    size_t done = 0;
    while (done < bytes.length) {
        ssize_t n = pwrite(o->file, bytes.bytes + done, bytes.length - done, (off_t)(at + done));
        if (n < 0 && errno != EINTR)
            return nb_error_errno(error, errno, "writing the outbox");
        done += n > 0 ? (size_t)n : 0;
    }
    return fdatasync(o->file) == 0 ? 0 : nb_error_errno(error, errno, "syncing the outbox");
}

static int read_record(const struct nb_outbox *o, uint64_t at, struct record *record)
{
    unsigned char bytes[RECORD_BYTES];
    int rc = read_at(o, bytes, sizeof bytes, at);
    struct nb_unpacker u = nb_unpacker_of((const char *)bytes, sizeof bytes);
    if (rc != 0)
        return rc;
    *record = (struct record){.length = nb_unpack_u64(&u)};
    record->entry = nb_unpack_u64(&u);
    record->checksum = nb_unpack_u64(&u);
    return 0;
}

/* The record and its message; NB_CORRUPT: it is none, or not whole. NB_IO: nobody knows. */
static int read_entry(const struct nb_outbox *o, uint64_t at, uint64_t end, struct record *record,
                      struct nb_buffer *message)
{
    if (at + RECORD_BYTES > end)
        return NB_CORRUPT;
    if (read_record(o, at, record) != 0)
        return NB_IO;
    if (record->length > end - at - RECORD_BYTES || record->entry == 0)
        return NB_CORRUPT;
    message->length = 0;
    if (nb_buffer_reserve(message, record->length) != 0)
        return NB_NO_MEMORY;
    if (read_at(o, message->bytes, record->length, at + RECORD_BYTES) != 0)
        return NB_IO;
    message->length = record->length;
    return checksum(o, record->entry, nb_buffer_string(message)) == record->checksum ? 0
                                                                                     : NB_CORRUPT;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int unreadable(struct nb_error *error)
{
    return nb_error_set(error, NB_IO, "the outbox cannot be read");
}

static int find_entries(struct nb_outbox *o, uint64_t size, struct nb_error *error)
{
    struct nb_buffer message = {0};
    struct record record;
    int rc;
    while ((rc = read_entry(o, o->end, size, &record, &message)) == 0 &&
           (o->entries == 0 || record.entry == o->next)) {
        o->end += RECORD_BYTES + record.length;
        o->next = record.entry + 1;
        o->entries++;
        o->bytes += record.length;
    }
    nb_buffer_deinit(&message);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc == NB_IO) /* what cannot be read now was acknowledged: nothing is cut off */
        return unreadable(error);
    return o->end == size || ftruncate(o->file, (off_t)o->end) == 0
               ? 0
               : nb_error_errno(error, errno, "shortening the outbox");
}

static int begin(struct nb_outbox *o, struct nb_error *error)
{
    struct nb_buffer head = {0};
    struct nb_packer w = {.out = &head};
    o->identity = nb_key_random();
    nb_pack_u64(&w, MAGIC);
    nb_pack_u64(&w, o->identity);
    int rc =
        w.code != 0 ? nb_error_no_memory(error) : write_at(o, nb_buffer_string(&head), 0, error);
    nb_buffer_deinit(&head);
    return rc;
}

static int read_file(struct nb_outbox *o, struct nb_error *error)
{
    unsigned char head[HEAD_BYTES];
    struct stat status;
    o->start = o->end = HEAD_BYTES;
    o->next = 1;
    if (fstat(o->file, &status) != 0)
        return nb_error_errno(error, errno, "reading the outbox");
    if (status.st_size < HEAD_BYTES) /* it was being made */
        return begin(o, error);
    if (read_at(o, head, sizeof head, 0) != 0)
        return unreadable(error);
    struct nb_unpacker u = nb_unpacker_of((const char *)head, sizeof head);
    if (nb_unpack_u64(&u) != MAGIC)
        return nb_error_set(error, NB_CORRUPT,
                            "the file 'outbox' of the data directory is no outbox");
    o->identity = nb_unpack_u64(&u);
    int rc = find_entries(o, (uint64_t)status.st_size, error);
    return rc == 0 && o->entries == 0 ? begin(o, error) : rc;
}

static int open_file(struct nb_outbox *o, const char *folder, struct nb_error *error)
{
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return nb_error_errno(error, errno, folder);
    o->file = openat(directory, "outbox", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int rc = o->file < 0 || fsync(directory) != 0 ? nb_error_errno(error, errno, "the outbox") : 0;
    (void)close(directory); /* nothing was written to it */
    return rc == 0 ? read_file(o, error) : rc;
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
    int rc = open_file(o, folder, error);
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
        o->end + bytes <=
            HEAD_BYTES + (uint64_t)ROOM * (o->limits.bytes + RECORD_BYTES * o->limits.entries))
        return 0;
    return nb_error_set(error, NB_STOPPING,
                        "the cluster's stream is away, and the outbox is full (%llu changes, %llu "
                        "bytes): send the change again later",
                        (unsigned long long)o->entries, (unsigned long long)o->bytes);
}

static int write_messages(struct nb_outbox *o, const struct nb_string *messages, size_t count,
                          struct nb_error *error)
{
    struct nb_packer w = {.out = &o->written};
    o->written.length = 0;
    for (size_t i = 0; i < count; i++) {
        nb_pack_u64(&w, messages[i].length);
        nb_pack_u64(&w, o->next + i);
        nb_pack_u64(&w, checksum(o, o->next + i, messages[i]));
        nb_pack_bytes(&w, messages[i].bytes, messages[i].length);
    }
    if (w.code != 0)
        return nb_error_no_memory(error);
    int rc = write_at(o, nb_buffer_string(&o->written), o->end, error);
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
        o->bytes += o->written.length - (uint64_t)RECORD_BYTES * count;
    }
    nb_buffer_trim(&o->written);
    pthread_mutex_unlock(&o->lock);
    return rc;
}

/* ---- taking ---------------------------------------------------------------------------------- */

int nb_outbox_first(struct nb_outbox *o, uint64_t *entry, struct nb_buffer *message,
                    struct nb_error *error)
{
    struct record record = {.entry = 0};
    pthread_mutex_lock(&o->lock);
    int rc = o->entries > 0 ? read_entry(o, o->start, o->end, &record, message) : 0;
    pthread_mutex_unlock(&o->lock);
    if (rc == NB_CORRUPT)
        return nb_error_set(error, NB_IO, "the outbox does not read back");
    if (rc == NB_IO)
        return unreadable(error);
    *entry = record.entry;
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

void nb_outbox_remove(struct nb_outbox *o, uint64_t entry)
{
    struct record record;
    pthread_mutex_lock(&o->lock);
    while (o->entries > 0 && read_record(o, o->start, &record) == 0 && record.entry <= entry) {
        assert(o->bytes >= record.length);
        o->start += RECORD_BYTES + record.length;
        o->entries--;
        o->bytes -= record.length;
    }
    /* Not synced: what comes back was made already, and is passed over. */
    if (o->entries == 0 && o->end > HEAD_BYTES && ftruncate(o->file, HEAD_BYTES) == 0)
        o->start = o->end = HEAD_BYTES;
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
