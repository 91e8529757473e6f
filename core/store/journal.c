/* SPDX-License-Identifier: Apache-2.0
 *
 * A record has a head of six numbers (8 bytes each, little-endian): its checksum (XXH3 of all that
 * follows), the identity of the store, the commit on which it is based, its number, the checksum of
 * the record before it, and the length of its changes. Then come the changes, and zeros up to a
 * multiple of 8 bytes. A change has the number of the table (plus 128 if the key is deleted), the
 * key, and the value unless the key is deleted.
 */
#include "core/store/journal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/pack.h"

enum {
    HEAD_BYTES = 48,
    ALIGNMENT = 8,       /* alignment of records in bytes */
    DELETED = 128,       /* added to the table's number */
    GROWTH = 1 << 16,    /* the file grows by this many zeros, so that later syncs are short */
    FILE_MOST = 1 << 30, /* bytes; a longer file is refused */
};

struct head {
    uint64_t check, store, commit, number, before, length;
};

/* The contents of the file. */
struct text {
    const char *bytes;
    size_t length;
};

void nb_journal_init(struct nb_journal *journal, int file, const char *path, uint64_t store)
{
    *journal = (struct nb_journal){.file = file, .path = path, .store = store};
}

void nb_journal_deinit(struct nb_journal *journal)
{
    nb_buffer_deinit(&journal->record);
    journal->file = -1;
}

void nb_journal_begin(struct nb_journal *journal, uint64_t commit)
{
    journal->commit = commit;
    journal->number = journal->before = 0;
    journal->at = 0;
    journal->unsure = false;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the head of the record at `at`, of any store and commit. Returns false if there is none. */
static bool read_head(const struct text *text, size_t at, struct head *head)
{
    if (at > text->length || text->length - at < HEAD_BYTES)
        return false;
    struct nb_unpacker r = nb_unpacker_of(text->bytes + at, HEAD_BYTES);
    head->check = nb_unpack_u64(&r);
    head->store = nb_unpack_u64(&r);
    head->commit = nb_unpack_u64(&r);
    head->number = nb_unpack_u64(&r);
    head->before = nb_unpack_u64(&r);
    head->length = nb_unpack_u64(&r);
    return head->length <= text->length - at - HEAD_BYTES && head->number != 0;
}

static bool is_sound(const struct text *text, size_t at, const struct head *head)
{
    const char *bytes = text->bytes + at + sizeof head->check;
    return XXH3_64bits(bytes, HEAD_BYTES - sizeof head->check + head->length) == head->check;
}

/* Whether a valid record follows the last one of `journal`. Reads its head. */
static bool is_next(const struct nb_journal *journal, const struct text *text, struct head *head)
{
    size_t at = (size_t)journal->at;
    return read_head(text, at, head) && head->store == journal->store &&
           head->commit == journal->commit && head->number == journal->number + 1 &&
           head->before == journal->before && is_sound(text, at, head);
}

static size_t end_of(size_t at, uint64_t length)
{
    return at + (HEAD_BYTES + (size_t)length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Whether a newer record of the same commit lies anywhere behind the last one. */
static bool goes_on(const struct nb_journal *journal, const struct text *text)
{
    struct head head;
    for (size_t at = (size_t)journal->at; at < text->length; at += ALIGNMENT)
        if (read_head(text, at, &head) && head.store == journal->store &&
            head.commit == journal->commit && head.number > journal->number &&
            is_sound(text, at, &head))
            return true;
    return false;
}

/* Whether records may be missing behind the last one. If not, zeros or records of an older commit
 * lie there. */
static bool is_cut(const struct nb_journal *journal, const struct text *text)
{
    enum { STORE_AT = 8, MARK_BYTES = 16 };
    size_t at = (size_t)journal->at;
    if (text->length == 0 || text->length % GROWTH != 0)
        return true;
    if (at > text->length || text->length - at < STORE_AT + MARK_BYTES)
        return false;
    struct nb_unpacker r = nb_unpacker_of(text->bytes + at + STORE_AT, MARK_BYTES);
    uint64_t store = nb_unpack_u64(&r), commit = nb_unpack_u64(&r);
    return store == journal->store && commit == journal->commit;
}

static int read_changes(const struct nb_journal *journal, struct nb_string changes,
                        nb_recent_visit *visit, void *user, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(changes.bytes, changes.length);
    int rc = 0;
    while (rc == 0 && !nb_unpacker_done(&r)) {
        unsigned kind = nb_unpack_u8(&r);
        struct nb_recent_change change = {.table = kind % DELETED, .deleted = kind >= DELETED};
        change.key = nb_unpack_string(&r);
        change.value = change.deleted ? (struct nb_string){"", 0} : nb_unpack_string(&r);
        if (r.failed || change.key.length == 0)
            return nb_error_set(error, NB_CORRUPT,
                                "%s is damaged: record %llu is no list of changes", journal->path,
                                (unsigned long long)journal->number);
        rc = visit(user, &change);
    }
    return rc;
}

static int read_records(struct nb_journal *journal, const struct text *text, nb_recent_visit *visit,
                        void *user, struct nb_journal_found *found, struct nb_error *error)
{
    struct head head;
    int rc = 0;
    if (read_head(text, 0, &head) && is_sound(text, 0, &head)) {
        if (journal->store == 0)
            journal->store = head.store;
        found->is_foreign = head.store != journal->store;
        found->is_later = !found->is_foreign && head.commit > journal->commit;
    }
    while (rc == 0 && is_next(journal, text, &head)) {
        struct nb_string changes = {text->bytes + journal->at + HEAD_BYTES, (size_t)head.length};
        journal->number = head.number;
        journal->before = head.check;
        rc = read_changes(journal, changes, visit, user, error);
        journal->at = (off_t)end_of((size_t)journal->at, head.length);
        found->records++;
    }
    found->is_damaged = rc == 0 && goes_on(journal, text);
    found->end = journal->at;
    found->size = (off_t)text->length;
    found->is_cut = !found->is_foreign && !found->is_later && is_cut(journal, text);
    return rc;
}

static int read_file(struct nb_journal *journal, char *bytes, size_t length, struct nb_error *error)
{
    size_t have = 0;
    while (have < length) {
        ssize_t got = pread(journal->file, bytes + have, length - have, (off_t)have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return nb_error_errno(error, got < 0 ? errno : EIO, journal->path);
        have += (size_t)got;
    }
    return 0;
}

int nb_journal_read(struct nb_journal *journal, uint64_t commit, nb_recent_visit *visit, void *user,
                    struct nb_journal_found *found, struct nb_error *error)
{
    struct stat status;
    *found = (struct nb_journal_found){0};
    nb_journal_begin(journal, commit);
    if (fstat(journal->file, &status) != 0)
        return nb_error_errno(error, errno, journal->path);
    if (status.st_size > FILE_MOST)
        return nb_error_set(error, NB_CORRUPT, "%s is over %d bytes: no bayesd wrote it",
                            journal->path, FILE_MOST);
    journal->size = status.st_size;
    char *bytes = malloc((size_t)status.st_size + 1);
    if (bytes == NULL)
        return nb_error_no_memory(error);
    struct text text = {bytes, (size_t)status.st_size};
    int rc = read_file(journal, bytes, text.length, error);
    if (rc == 0)
        rc = read_records(journal, &text, visit, user, found, error);
    free(bytes);
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static const char zeros[GROWTH];

static int write_all(const struct nb_journal *journal, const char *bytes, size_t length, off_t at,
                     struct nb_error *error)
{
    while (length > 0) {
        ssize_t written = pwrite(journal->file, bytes, length, at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return nb_error_errno(error, written < 0 ? errno : EIO, journal->path);
        bytes += written;
        at += written;
        length -= (size_t)written;
    }
    return 0;
}

int nb_journal_add(void *user, const struct nb_recent_change *change)
{
    struct nb_journal *journal = user;
    struct nb_packer w = {.out = &journal->record};
    assert(change->table < DELETED);
    if (journal->record.length == 0)
        nb_pack_bytes(&w, zeros, HEAD_BYTES);
    nb_pack_u8(&w, (uint8_t)(change->table + (change->deleted ? DELETED : 0)));
    nb_pack_string(&w, change->key);
    if (!change->deleted)
        nb_pack_string(&w, change->value);
    return w.code;
}

void nb_journal_drop(struct nb_journal *journal)
{
    journal->record.length = 0;
}

static void put_number(char *at, uint64_t number)
{
    uint64_t little = htole64(number);
    memcpy(at, &little, sizeof little);
}

/* Fills in the head of the record, pads it with zeros, and sets *check to its checksum. Returns 0
 * or NB_NO_MEMORY. */
static int seal(struct nb_journal *journal, uint64_t *check)
{
    struct nb_buffer *record = &journal->record;
    const uint64_t fields[] = {journal->store, journal->commit, journal->number + 1,
                               journal->before, record->length - HEAD_BYTES};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        put_number(record->bytes + (i + 1) * sizeof(uint64_t), fields[i]);
    *check = XXH3_64bits(record->bytes + sizeof *check, record->length - sizeof *check);
    put_number(record->bytes, *check);
    return nb_buffer_append(record, zeros, end_of(0, record->length - HEAD_BYTES) - record->length);
}

/* Writes zeros before the record: if they do not fit on the disk, no part of the record is written.
 * The length is always a multiple of GROWTH, so that a file that was cut is recognized. */
static int grow(struct nb_journal *journal, size_t length, struct nb_error *error)
{
    int rc = 0;
    while (rc == 0 &&
           (journal->at + (off_t)length > journal->size || journal->size % GROWTH != 0)) {
        size_t more = GROWTH - (size_t)(journal->size % GROWTH);
        rc = write_all(journal, zeros, more, journal->size, error);
        if (rc == 0)
            journal->size += (off_t)more;
    }
    return rc;
}

static int write_record(struct nb_journal *journal, struct nb_error *error)
{
    const struct nb_buffer *record = &journal->record;
    int rc = grow(journal, record->length, error);
    if (rc != 0)
        return rc;
    journal->unsure = true;
    rc = write_all(journal, record->bytes, record->length, journal->at, error);
    if (rc == 0 && fdatasync(journal->file) != 0)
        rc = nb_error_errno(error, errno, journal->path);
    journal->unsure = rc != 0;
    return rc;
}

int nb_journal_append(struct nb_journal *journal, struct nb_error *error)
{
    uint64_t check = 0;
    assert(journal->record.length > HEAD_BYTES && !journal->unsure && journal->file >= 0);
    int rc = seal(journal, &check) == 0 ? write_record(journal, error) : nb_error_no_memory(error);
    if (rc == 0) {
        journal->at += (off_t)journal->record.length;
        journal->before = check;
        journal->number++;
    }
    nb_journal_drop(journal);
    return rc;
}

int nb_journal_settle(struct nb_journal *journal, struct nb_error *error)
{
    if (!journal->unsure)
        return 0;
    int rc = write_all(journal, zeros, HEAD_BYTES, journal->at, error);
    if (rc == 0 && fdatasync(journal->file) != 0)
        rc = nb_error_errno(error, errno, journal->path);
    journal->unsure = rc != 0;
    return rc;
}
