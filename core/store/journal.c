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
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/buffer.h"

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
    return XXH3_64bits(bytes, HEAD_BYTES - sizeof head->check + (size_t)head->length) ==
           head->check;
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

/* A skip list (Pugh 1990), sorted by table and key, with the newest change of a key first. Nodes
 * are only added, never removed: a change that is taken back stays in the list and is marked. A
 * node is complete before the first pointer to it is stored, and pointers are loaded with acquire,
 * so readers need no lock. */
enum {
    LEVELS = 10,           /* each has a quarter of the nodes of the one below: 10^6 are plenty */
    BLOCK_BYTES = 1 << 16, /* bytes of a block of nodes; a larger node gets its own block */
};

struct node {
    struct nb_recent_change change;
    uint64_t number;
    struct node *later; /* the node that was added next; for the writer only */
    /* The change was taken back. A reader looks at this only if it may see the change's number, and
     * readers learn of such a number only after this was set. */
    bool taken_back;
    _Atomic(struct node *) next[]; /* the bytes of key and value follow */
};

struct block {
    struct block *before;
    size_t used, room;
    _Alignas(16) char bytes[];
};

struct nb_recent {
    atomic_uint references;
    _Atomic(struct node *) first[LEVELS];
    /* For the writer only: */
    struct node *oldest, *newest;
    struct node *mark; /* the newest node before the group; NULL: none */
    struct block *block;
    uint64_t last;
    uint64_t bytes;
    uint64_t random;
};

struct nb_recent *nb_recent_new(void)
{
    struct nb_recent *recent = calloc(1, sizeof *recent);
    if (recent == NULL)
        return NULL;
    atomic_init(&recent->references, 1);
    for (int i = 0; i < LEVELS; i++)
        atomic_init(&recent->first[i], NULL);
    recent->random = 0x9E3779B97F4A7C15u;
    return recent;
}

struct nb_recent *nb_recent_ref(struct nb_recent *recent)
{
    atomic_fetch_add(&recent->references, 1);
    return recent;
}

void nb_recent_unref(struct nb_recent **out)
{
    struct nb_recent *recent = *out;
    *out = NULL;
    if (recent == NULL || atomic_fetch_sub(&recent->references, 1) != 1)
        return;
    while (recent->block != NULL) {
        struct block *block = recent->block;
        recent->block = block->before;
        free(block);
    }
    free(recent);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Returns a number < 0 if the node lies before the place of change `number` of this key. */
static int compare(const struct node *node, unsigned table, struct nb_string key, uint64_t number)
{
    if (node->change.table != table)
        return node->change.table < table ? -1 : 1;
    int order = nb_string_compare(node->change.key, key);
    if (order != 0)
        return order;
    return (node->number < number) - (node->number > number);
}

static bool is_same_key(const struct nb_recent_change *a, const struct nb_recent_change *b)
{
    return a->table == b->table && nb_string_compare(a->key, b->key) == 0;
}

static struct node *load(_Atomic(struct node *) *link)
{
    return atomic_load_explicit(link, memory_order_acquire);
}

/* Finds the first node at or behind a place. Also sets *before to the last node before the place
 * (NULL: there is none), and `links` to the last links before it on each level, unless these are
 * NULL. Returns the node that was compared, and does not load its link again: the writer may have
 * inserted another node before it meanwhile. */
static struct node *search(struct nb_recent *recent, unsigned table, struct nb_string key,
                           uint64_t number, struct node **before, _Atomic(struct node *) **links)
{
    _Atomic(struct node *) *from = recent->first;
    struct node *at = NULL, *next = NULL;
    for (int level = LEVELS - 1; level >= 0; level--) {
        while ((next = load(&from[level])) != NULL && compare(next, table, key, number) < 0) {
            at = next;
            from = next->next;
        }
        if (links != NULL)
            links[level] = &from[level];
    }
    if (before != NULL)
        *before = at;
    return next;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_visible(const struct node *node, uint64_t last)
{
    return node->number <= last && !node->taken_back;
}

/* The first visible change of `table` from `node` on. */
static const struct nb_recent_change *visible_from(struct node *node, uint64_t last, unsigned table)
{
    while (node != NULL && node->change.table == table && !is_visible(node, last))
        node = load(&node->next[0]);
    return node == NULL || node->change.table != table ? NULL : &node->change;
}

const struct nb_recent_change *nb_recent_from(struct nb_recent *recent, uint64_t last,
                                              unsigned table, struct nb_string from)
{
    return visible_from(search(recent, table, from, UINT64_MAX, NULL, NULL), last, table);
}

const struct nb_recent_change *nb_recent_after(uint64_t last, const struct nb_recent_change *change)
{
    struct node *node = (struct node *)(uintptr_t)change;
    do
        node = load(&node->next[0]);
    while (node != NULL && is_same_key(&node->change, change));
    return visible_from(node, last, change->table);
}

const struct nb_recent_change *nb_recent_find(struct nb_recent *recent, uint64_t last,
                                              unsigned table, struct nb_string key)
{
    const struct nb_recent_change wanted = {.key = key, .table = table};
    struct node *node = search(recent, table, key, last, NULL, NULL);
    while (node != NULL && is_same_key(&node->change, &wanted) && !is_visible(node, last))
        node = load(&node->next[0]);
    return node != NULL && is_same_key(&node->change, &wanted) ? &node->change : NULL;
}

const struct nb_recent_change *nb_recent_before(struct nb_recent *recent, uint64_t last,
                                                unsigned table, struct nb_string key)
{
    const struct nb_recent_change *found = NULL;
    struct node *node;
    (void)search(recent, key.length == 0 ? table + 1 : table, key, UINT64_MAX, &node, NULL);
    while (node != NULL && node->change.table == table && found == NULL) {
        found = nb_recent_find(recent, last, table, node->change.key);
        if (found == NULL)
            (void)search(recent, table, node->change.key, UINT64_MAX, &node, NULL);
    }
    return found;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Draws the number of levels of a node with xorshift64 (Marsaglia 2003): each further level has
 * probability 1/4. It does not depend on the key. */
static int draw_levels(struct nb_recent *recent)
{
    int levels = 1;
    recent->random ^= recent->random << 13;
    recent->random ^= recent->random >> 7;
    recent->random ^= recent->random << 17;
    for (uint64_t bits = recent->random; levels < LEVELS && (bits & 3) == 0; bits >>= 2)
        levels++;
    return levels;
}

static void *take(struct nb_recent *recent, size_t bytes)
{
    bytes = (bytes + 15) / 16 * 16;
    struct block *block = recent->block;
    if (block == NULL || block->room - block->used < bytes) {
        size_t room = bytes < BLOCK_BYTES ? BLOCK_BYTES : bytes;
        block = malloc(sizeof *block + room);
        if (block == NULL)
            return NULL;
        *block = (struct block){.before = recent->block, .room = room};
        recent->block = block;
        recent->bytes += sizeof *block + room;
    }
    void *taken = block->bytes + block->used;
    block->used += bytes;
    return taken;
}

static struct nb_string copy(char *to, struct nb_string from)
{
    if (from.length > 0)
        memcpy(to, from.bytes, from.length);
    return (struct nb_string){to, from.length};
}

static struct node *new_node(struct nb_recent *recent, int levels,
                             const struct nb_recent_change *change)
{
    size_t head = sizeof(struct node) + (size_t)levels * sizeof(_Atomic(struct node *));
    struct node *node = take(recent, head + change->key.length + change->value.length);
    if (node == NULL)
        return NULL;
    char *bytes = (char *)node + head;
    *node = (struct node){.number = ++recent->last,
                          .change = {.table = change->table, .deleted = change->deleted}};
    node->change.key = copy(bytes, change->key);
    node->change.value = copy(bytes + change->key.length, change->value);
    return node;
}

int nb_recent_add(struct nb_recent *recent, const struct nb_recent_change *change)
{
    _Atomic(struct node *) *links[LEVELS];
    int levels = draw_levels(recent);
    assert(change->key.length > 0 && (!change->deleted || change->value.length == 0));
    struct node *node = new_node(recent, levels, change);
    if (node == NULL)
        return NB_NO_MEMORY;
    (void)search(recent, change->table, change->key, node->number, NULL, links);
    for (int i = 0; i < levels; i++)
        atomic_init(&node->next[i], atomic_load_explicit(links[i], memory_order_relaxed));
    for (int i = 0; i < levels; i++)
        atomic_store_explicit(links[i], node, memory_order_release);
    if (recent->newest == NULL)
        recent->oldest = node;
    else
        recent->newest->later = node;
    recent->newest = node;
    return 0;
}

uint64_t nb_recent_last(const struct nb_recent *recent)
{
    return recent->last;
}

uint64_t nb_recent_bytes(const struct nb_recent *recent)
{
    return recent->bytes;
}

void nb_recent_mark(struct nb_recent *recent)
{
    recent->mark = recent->newest;
}

static struct node *first_of_group(const struct nb_recent *recent)
{
    return recent->mark == NULL ? recent->oldest : recent->mark->later;
}

bool nb_recent_is_marked(const struct nb_recent *recent)
{
    return first_of_group(recent) != NULL;
}

void nb_recent_take_back(struct nb_recent *recent)
{
    for (struct node *node = first_of_group(recent); node != NULL; node = node->later)
        node->taken_back = true;
    nb_recent_mark(recent);
}

int nb_recent_each(const struct nb_recent *recent, nb_recent_visit *visit, void *user)
{
    int rc = 0;
    for (const struct node *node = first_of_group(recent); rc == 0 && node != NULL;
         node = node->later)
        rc = visit(user, &node->change);
    return rc;
}
