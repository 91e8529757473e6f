/* SPDX-License-Identifier: Apache-2.0 */
#include "core/outbox/outbox_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/key.h"
#include "core/base/pack.h"

enum { HEAD_BYTES = 24 /* of one of the two */ };
static const uint64_t MAGIC = UINT64_C(0x6f7574626f783032);

/* ---- bytes ----------------------------------------------------------------------------------- */

static uint64_t checksum(const struct nb_outbox *o, const struct nb_outbox_record *record,
                         const char *message)
{
    const uint64_t all[] = {htole64(record->length), htole64(record->entry), htole64(record->place),
                            htole64(record->before)};
    uint64_t seed = XXH3_64bits_withSeed(all, sizeof all, o->identity);
    return XXH3_64bits_withSeed(message, record->length, seed);
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

int nb_outbox_write_at(const struct nb_outbox *o, struct nb_string bytes, uint64_t at,
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

static struct nb_outbox_record unpack_record(const char bytes[NB_OUTBOX_RECORD])
{
    struct nb_unpacker u = nb_unpacker_of(bytes, NB_OUTBOX_RECORD);
    struct nb_outbox_record record = {.checksum = nb_unpack_u64(&u)};
    record.length = nb_unpack_u64(&u);
    record.entry = nb_unpack_u64(&u);
    record.place = nb_unpack_u64(&u);
    record.before = nb_unpack_u64(&u);
    return record;
}

int nb_outbox_record_read(const struct nb_outbox *o, uint64_t at, struct nb_outbox_record *record)
{
    char bytes[NB_OUTBOX_RECORD];
    int rc = read_at(o, bytes, sizeof bytes, at);
    if (rc == 0)
        *record = unpack_record(bytes);
    return rc;
}

int nb_outbox_entry_read(const struct nb_outbox *o, uint64_t at, uint64_t end,
                         struct nb_outbox_record *record, struct nb_buffer *message)
{
    if (at + NB_OUTBOX_RECORD > end)
        return NB_CORRUPT;
    if (nb_outbox_record_read(o, at, record) != 0)
        return NB_IO;
    if (record->length > end - at - NB_OUTBOX_RECORD || record->entry == 0)
        return NB_CORRUPT;
    message->length = 0;
    if (nb_buffer_reserve(message, record->length) != 0)
        return NB_NO_MEMORY;
    if (read_at(o, message->bytes, record->length, at + NB_OUTBOX_RECORD) != 0)
        return NB_IO;
    message->length = record->length;
    return checksum(o, record, message->bytes) == record->checksum ? 0 : NB_CORRUPT;
}

int nb_outbox_entry_write(const struct nb_outbox *o, struct nb_string message, uint64_t entry,
                          uint64_t place, uint64_t *before, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    const struct nb_outbox_record record = {
        .length = message.length, .entry = entry, .place = place, .before = *before};
    *before = checksum(o, &record, message.bytes);
    nb_pack_u64(&w, *before);
    nb_pack_u64(&w, record.length);
    nb_pack_u64(&w, record.entry);
    nb_pack_u64(&w, record.place);
    nb_pack_u64(&w, record.before);
    nb_pack_bytes(&w, message.bytes, message.length);
    return w.code;
}

/* ---- opening --------------------------------------------------------------------------------- */

int nb_outbox_unreadable(struct nb_error *error)
{
    return nb_error_set(error, NB_IO, "the outbox cannot be read");
}

/* `rest` is the file from `end` on. */
static uint64_t find(const struct nb_outbox *o, const struct nb_buffer *rest, uint64_t size,
                     uint64_t place, struct nb_outbox_record *record)
{
    for (uint64_t next = o->end; next + NB_OUTBOX_RECORD <= size; next++) {
        const char *bytes = rest->bytes + (next - o->end);
        *record = unpack_record(bytes);
        if (record->place > place && record->place <= next && record->entry >= o->next &&
            record->length <= size - next - NB_OUTBOX_RECORD &&
            checksum(o, record, bytes + NB_OUTBOX_RECORD) == record->checksum)
            return next;
    }
    return size;
}

int nb_outbox_file_look(const struct nb_outbox *o, uint64_t size, uint64_t place, uint64_t *at,
                        struct nb_outbox_record *record, struct nb_error *error)
{
    struct nb_buffer rest = {0};
    if (nb_buffer_reserve(&rest, size - o->end + 1) != 0)
        return nb_error_no_memory(error);
    int rc = read_at(o, rest.bytes, size - o->end, o->end);
    if (rc == 0)
        *at = find(o, &rest, size, place, record);
    nb_buffer_deinit(&rest);
    return rc == 0 ? 0 : nb_outbox_unreadable(error);
}

int nb_outbox_file_check(const struct nb_outbox *o, uint64_t size, struct nb_error *error)
{
    struct nb_outbox_record later;
    uint64_t at = size;
    int rc = nb_outbox_file_look(o, size, o->end, &at, &later, error);
    if (rc != 0 || at == size)
        return rc;
    return nb_error_set(error, NB_CORRUPT,
                        "the file 'outbox' of the data directory is damaged at byte %llu, and "
                        "changes that were acknowledged lie behind it: bayesd --rebuild keeps "
                        "those that can be read",
                        (unsigned long long)o->end);
}

/* Takes the entries from `o->end` on, up to one that is not whole or does not follow. */
static int take_entries(struct nb_outbox *o, uint64_t size, struct nb_error *error)
{
    struct nb_buffer message = {0};
    struct nb_outbox_record record;
    int rc;
    while ((rc = nb_outbox_entry_read(o, o->end, size, &record, &message)) == 0 &&
           record.before == o->before && record.entry >= o->next) {
        o->end += NB_OUTBOX_RECORD + record.length;
        o->next = record.entry + 1;
        o->before = record.checksum;
        o->entries++;
        o->bytes += record.length;
    }
    nb_buffer_deinit(&message);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == NB_IO ? nb_outbox_unreadable(error) : 0;
}

int nb_outbox_head_write(const struct nb_outbox *o, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    for (int i = 0; i < 2; i++) {
        size_t at = out->length;
        nb_pack_u64(&w, MAGIC);
        nb_pack_u64(&w, o->identity);
        if (w.code == 0)
            nb_pack_u64(&w, XXH3_64bits(out->bytes + at, HEAD_BYTES - 8));
    }
    return w.code;
}

int nb_outbox_file_begin(struct nb_outbox *o, struct nb_error *error)
{
    struct nb_buffer head = {0};
    o->identity = nb_key_random();
    int rc = nb_outbox_head_write(o, &head) != 0
                 ? nb_error_no_memory(error)
                 : nb_outbox_write_at(o, nb_buffer_string(&head), 0, error);
    nb_buffer_deinit(&head);
    return rc;
}

/* Reads the identity. */
static int read_head(struct nb_outbox *o, struct nb_error *error)
{
    char heads[NB_OUTBOX_START];
    if (read_at(o, heads, sizeof heads, 0) != 0)
        return nb_outbox_unreadable(error);
    for (size_t at = 0; at < NB_OUTBOX_START; at += HEAD_BYTES) {
        struct nb_unpacker u = nb_unpacker_of(heads + at, HEAD_BYTES);
        uint64_t magic = nb_unpack_u64(&u);
        o->identity = nb_unpack_u64(&u);
        if (magic == MAGIC && nb_unpack_u64(&u) == XXH3_64bits(heads + at, HEAD_BYTES - 8))
            return 0;
    }
    return NB_CORRUPT;
}

/* A file that begins otherwise than an outbox, also than one that was being made. */
static bool is_other(const struct nb_outbox *o, uint64_t size)
{
    char bytes[sizeof MAGIC] = {0};
    if (size < sizeof bytes || read_at(o, bytes, sizeof bytes, 0) != 0)
        return false;
    struct nb_unpacker u = nb_unpacker_of(bytes, sizeof bytes);
    uint64_t magic = nb_unpack_u64(&u);
    return magic != MAGIC && magic != 0;
}

int nb_outbox_file_read(struct nb_outbox *o, uint64_t *size, struct nb_error *error)
{
    struct stat status;
    o->start = o->end = NB_OUTBOX_START;
    o->next = 1;
    if (fstat(o->file, &status) != 0)
        return nb_error_errno(error, errno, "reading the outbox");
    *size = (uint64_t)status.st_size;
    int rc = *size < NB_OUTBOX_START ? NB_CORRUPT : read_head(o, error);
    if (rc == NB_CORRUPT && *size <= NB_OUTBOX_START && !is_other(o, *size)) {
        *size = 0; /* it was being made: there is nothing to lose */
        return 0;
    }
    if (rc == NB_CORRUPT)
        return nb_error_set(error, NB_CORRUPT,
                            "the file 'outbox' of the data directory is no outbox, or its "
                            "beginning is damaged: without that nothing in it can be read; move it "
                            "away");
    return rc == 0 ? take_entries(o, *size, error) : rc;
}

int nb_outbox_file_open(struct nb_outbox *o, const char *folder, struct nb_error *error)
{
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return nb_error_errno(error, errno, folder);
    o->file = openat(directory, "outbox", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int rc = o->file < 0 || fsync(directory) != 0 ? nb_error_errno(error, errno, "the outbox") : 0;
    (void)close(directory); /* nothing was written to it */
    return rc;
}
