/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/page.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Offsets in the head of a page (PAGES_AT: of an overflow page), and in a node. */
enum {
    KIND_AT = NB_PAGE_WORD + 2,
    LOWER_AT = NB_PAGE_WORD + 4,
    UPPER_AT = NB_PAGE_WORD + 6,
    PAGES_AT = LOWER_AT,
};
enum { NODE_FLAGS_AT = 4, NODE_KEY_SIZE_AT = 6, NODE_HEADER = 8 };

static unsigned u16(const unsigned char *bytes)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static uint32_t u32(const unsigned char *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static size_t word(const unsigned char *bytes)
{
    size_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

unsigned nb_page_kind(const unsigned char *page)
{
    return u16(page + KIND_AT);
}

unsigned nb_page_count(const unsigned char *page)
{
    return (u16(page + LOWER_AT) - NB_PAGE_HEADER) / 2;
}

/* Returns the size of a node's value, or the lower 32 bits of its child's page number. LMDB stores
 * two halves of 16 bits, in the order in which the machine has them in a number of 32. */
static uint32_t node_number(const unsigned char *node)
{
    return u32(node);
}

struct nb_node nb_page_node(const unsigned char *page, unsigned i)
{
    const unsigned char *at = page + u16(page + NB_PAGE_HEADER + 2 * (size_t)i);
    struct nb_node node = {.key = {(const char *)at + NODE_HEADER, u16(at + NODE_KEY_SIZE_AT)}};
    const unsigned char *value = at + NODE_HEADER + node.key.length;
    if (nb_page_kind(page) == NB_PAGE_BRANCH) {
        node.child = node_number(at);
        if (NB_PAGE_WORD > sizeof(uint32_t)) /* the flags have the bits above 32 */
            node.child |= (uint64_t)u16(at + NODE_FLAGS_AT) << 32;
        return node;
    }
    node.flags = u16(at + NODE_FLAGS_AT);
    node.size = node_number(at);
    if ((node.flags & NB_NODE_BIG) != 0)
        node.overflow = word(value);
    else
        node.value = value;
    return node;
}

/* Returns the bytes of the node at `at`, rounded up to an even number as in LMDB; 0 if the node
 * reaches past the page. */
static uint32_t node_bytes(const unsigned char *page, uint32_t page_size, unsigned at, bool leaf)
{
    uint64_t size = NODE_HEADER + u16(page + at + NODE_KEY_SIZE_AT);
    if (leaf)
        size += (u16(page + at + NODE_FLAGS_AT) & NB_NODE_BIG) != 0 ? NB_PAGE_WORD
                                                                    : node_number(page + at);
    size = (size + 1) & ~(uint64_t)1;
    return size <= page_size - at ? (uint32_t)size : 0;
}

/* Whether the nodes lie side by side from `upper` to the end of the page, without overlaps, and
 * each is listed once. */
static bool nodes_fill(const unsigned char *page, uint32_t page_size, unsigned upper, bool leaf)
{
    uint16_t bytes_at[NB_PAGE_MOST / 2];
    unsigned count = nb_page_count(page);
    memset(bytes_at + upper / 2, 0, page_size - upper);
    for (unsigned i = 0; i < count; i++) {
        unsigned at = u16(page + NB_PAGE_HEADER + 2 * (size_t)i);
        if (at < upper || at % 2 != 0 || at > page_size - NODE_HEADER)
            return false;
        bytes_at[at / 2] = (uint16_t)node_bytes(page, page_size, at, leaf);
    }
    for (; upper < page_size && count > 0 && bytes_at[upper / 2] != 0; count--)
        upper += bytes_at[upper / 2];
    return upper == page_size && count == 0;
}

static bool keys_fit(const unsigned char *page)
{
    unsigned count = nb_page_count(page);
    for (unsigned i = 0; i < count; i++)
        if (nb_page_node(page, i).key.length > NB_PAGE_KEY_MOST)
            return false;
    return true;
}

const char *nb_page_check(const unsigned char *page, uint32_t page_size, uint64_t number,
                          unsigned kind)
{
    unsigned lower = u16(page + LOWER_AT);
    unsigned upper = u16(page + UPPER_AT);
    assert(page_size >= NB_PAGE_LEAST && page_size <= NB_PAGE_MOST);
    assert(kind == NB_PAGE_BRANCH || kind == NB_PAGE_LEAF);
    if (word(page) != number)
        return "it has another page's number";
    if (nb_page_kind(page) != kind)
        return kind == NB_PAGE_LEAF ? "it should be a leaf" : "it should be a branch";
    if (lower < NB_PAGE_HEADER || lower % 2 != 0 || upper % 2 != 0 || lower > upper ||
        upper > page_size)
        return "its bounds are impossible";
    if (!nodes_fill(page, page_size, upper, kind == NB_PAGE_LEAF))
        return "its nodes do not fill it";
    if (!keys_fit(page))
        return "a key is too long";
    return NULL;
}

const char *nb_page_check_overflow(const unsigned char *head, uint32_t page_size, uint64_t number,
                                   uint32_t size, uint32_t *pages)
{
    *pages = u32(head + PAGES_AT);
    if (word(head) != number)
        return "it has another page's number";
    if (nb_page_kind(head) != NB_PAGE_OVERFLOW)
        return "it should hold a large value";
    if ((uint64_t)*pages * page_size < (uint64_t)size + NB_PAGE_HEADER)
        return "it is too short for its value";
    return NULL;
}

enum { MAGIC = (int)0xBEEFC0DE, VERSION = 1 };

/* LMDB stores its own structs; these structs have the same layout. */
static_assert(NB_PAGE_WORD == 8 || NB_PAGE_WORD == 4, "a word of LMDB");
static_assert(sizeof(struct nb_tree_record) == 8 + 5 * NB_PAGE_WORD, "layout of LMDB's MDB_db");
static_assert(sizeof(struct nb_meta) == 24 + 14 * NB_PAGE_WORD, "layout of LMDB's MDB_meta");

static int damaged(const char *path, int page, const char *what, struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT, "%s is damaged: page %d %s; restore a backup", path,
                        page, what);
}

static int read_fully(int file, const char *path, void *bytes, size_t length, off_t at,
                      struct nb_error *error)
{
    ssize_t got = pread(file, bytes, length, at);
    if (got < 0)
        return nb_error_errno(error, errno, path);
    if (got == 0 && at == 0)
        return NB_NOT_FOUND;
    if ((size_t)got != length)
        return nb_error_set(error, NB_CORRUPT,
                            "%s is damaged: it ends within its first pages; restore a "
                            "backup",
                            path);
    return 0;
}

/* Reads meta page `page`, which begins at byte `at`. */
static int read_one(int file, const char *path, int page, off_t at, struct nb_meta *meta,
                    struct nb_error *error)
{
    unsigned char bytes[NB_PAGE_HEADER + sizeof *meta];
    int rc = read_fully(file, path, bytes, sizeof bytes, at, error);
    if (rc != 0)
        return rc;
    memcpy(meta, bytes + NB_PAGE_HEADER, sizeof *meta);
    if (word(bytes) != (size_t)page || nb_page_kind(bytes) != NB_PAGE_META ||
        meta->magic != (uint32_t)MAGIC)
        return damaged(path, page, "is not the head of a store", error);
    if (meta->version != VERSION)
        return nb_error_set(error, NB_VERSION,
                            "%s was written by another version of LMDB (format %u, this is %d), or "
                            "it is damaged",
                            path, meta->version, VERSION);
    uint32_t size = meta->free.pad;
    if (size < NB_PAGE_LEAST || size > NB_PAGE_MOST || (size & (size - 1)) != 0)
        return damaged(path, page, "names an impossible page size", error);
    return 0;
}

/* Checks the transaction numbers: transaction n writes page n % 2, and the other page has the
 * transaction before it. */
static int check_numbers(const char *path, const struct nb_meta metas[2], int newest,
                         struct nb_error *error)
{
    for (int page = 0; page < 2; page++)
        if (metas[page].transaction != 0 && (int)(metas[page].transaction & 1) != page)
            return damaged(path, page, "has an impossible transaction number", error);
    if (metas[newest].transaction - metas[!newest].transaction > 1)
        return damaged(path, newest, "and the other head do not belong together", error);
    return 0;
}

int nb_meta_read(int file, const char *path, struct nb_meta metas[2], int *newest,
                 struct nb_error *error)
{
    int rc = read_one(file, path, 0, 0, &metas[0], error);
    if (rc == 0)
        rc = read_one(file, path, 1, metas[0].free.pad, &metas[1], error);
    if (rc != 0)
        return rc;
    if (metas[0].free.pad != metas[1].free.pad)
        return damaged(path, 1, "names another page size than page 0", error);
    *newest = metas[0].transaction < metas[1].transaction;
    return check_numbers(path, metas, *newest, error);
}

int nb_meta_write(int file, const char *path, int page, const struct nb_meta *meta,
                  struct nb_error *error)
{
    off_t at = (off_t)page * meta->free.pad + NB_PAGE_HEADER;
    ssize_t written = pwrite(file, meta, sizeof *meta, at);
    if (written >= 0 && written != (ssize_t)sizeof *meta)
        errno = EIO;
    if (written != (ssize_t)sizeof *meta || fdatasync(file) != 0)
        return nb_error_errno(error, errno, path);
    return 0;
}

int nb_meta_put_back(int file, const char *path, uint32_t page_size, uint64_t committed,
                     struct nb_error *error)
{
    struct nb_meta meta;
    int page = (int)(committed & 1);
    /* The other page is not read, because it may be half written. */
    int rc = read_one(file, path, page, (off_t)page * page_size, &meta, error);
    if (rc != 0)
        return rc;
    if (meta.transaction != committed || meta.free.pad != page_size)
        return damaged(path, page, "has lost the last transaction", error);
    meta.transaction -= committed > 0;
    return nb_meta_write(file, path, !page, &meta, error);
}

enum { OWNER_BYTES = 4 }; /* most keys begin with the number of a model, their owner */

struct entry {
    unsigned char *key; /* in the page */
    size_t length;
    unsigned char *value; /* in the page, or owned */
    size_t size;
    unsigned char *owned; /* copy of a value that lies in pages of its own; else NULL */
    bool sound;
};

struct leaf {
    const struct nb_reordering *reordering;
    unsigned table;
    struct nb_bounds bounds;
    struct entry *entries; /* owned; in the order of the page */
    unsigned count;
};

static struct nb_string key_of(const struct entry *entry)
{
    return (struct nb_string){(const char *)entry->key, entry->length};
}

static bool is_sound(const struct leaf *leaf, const struct entry *entry)
{
    const struct nb_reordering *m = leaf->reordering;
    struct nb_string value = {(const char *)entry->value, entry->size};
    return m->is_sound(m->user, leaf->table, key_of(entry), value);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads a value in pages of its own. The walk has not checked these pages yet, so their number may
 * be wrong. */
static int read_big(const struct nb_reordering *m, const struct nb_node *node, struct entry *entry,
                    struct nb_error *error)
{
    if (node->overflow >= m->file_pages)
        return NB_CORRUPT;
    uint64_t at = node->overflow * m->page_size + NB_PAGE_HEADER;
    if (node->size > m->file_pages * m->page_size - at)
        return NB_CORRUPT;
    entry->owned = malloc((size_t)node->size + 1);
    if (entry->owned == NULL)
        return nb_error_no_memory(error);
    ssize_t got = pread(m->file, entry->owned, node->size, (off_t)at);
    if (got < 0)
        return nb_error_errno(error, errno, m->path);
    entry->value = entry->owned;
    return (size_t)got == node->size ? 0 : NB_CORRUPT;
}

static int read_entry(const struct nb_reordering *m, const struct leaf *leaf, unsigned char *page,
                      unsigned i, struct nb_error *error)
{
    struct nb_node node = nb_page_node(page, i);
    struct entry *entry = &leaf->entries[i];
    entry->key = page + (node.key.bytes - (const char *)page);
    entry->length = node.key.length;
    entry->value = entry->key + entry->length;
    entry->size = node.size;
    int rc = (node.flags & NB_NODE_BIG) != 0 ? read_big(m, &node, entry, error) : 0;
    entry->sound = rc == 0 && is_sound(leaf, entry);
    return rc;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Whether the key of entry `i` is above the key of the nearest sound entry before it. If there is
 * none, the key must not be below the lower bound. Sets *before to the key or bound. */
static bool is_above(const struct leaf *leaf, unsigned i, struct nb_string *before)
{
    struct nb_string key = key_of(&leaf->entries[i]);
    while (i > 0 && !leaf->entries[i - 1].sound)
        i--;
    *before = i > 0 ? key_of(&leaf->entries[i - 1]) : leaf->bounds.from;
    int order = before->bytes == NULL ? 1 : nb_string_compare(key, *before);
    return order > 0 || (order == 0 && i == 0);
}

/* ---- a key that is lost ---------------------------------------------------------------------- */

/* Writes the greatest key of `length` bytes below `next`. In the ledger that key belongs to the
 * same entry as `next`, or to the number before. */
static void put_below(unsigned char *key, size_t length, struct nb_string next)
{
    size_t common = length < next.length ? length : next.length;
    memcpy(key, next.bytes, common);
    memset(key + common, 0xff, length - common);
    if (length < next.length)
        return;
    for (size_t i = common; i > 0; i--)
        if (key[i - 1]-- != 0)
            return;
}

/* Writes the least key of `length` bytes above `before`. */
static void put_above(unsigned char *key, size_t length, struct nb_string before)
{
    size_t common = length < before.length ? length : before.length;
    memcpy(key, before.bytes, common);
    memset(key + common, 0, length - common);
    if (length > before.length)
        return;
    for (size_t i = common; i > 0; i--)
        if (++key[i - 1] != 0)
            return;
}

static bool same_owner(struct nb_string a, struct nb_string b)
{
    return a.bytes != NULL && b.bytes != NULL && a.length >= OWNER_BYTES &&
           b.length >= OWNER_BYTES && memcmp(a.bytes, b.bytes, OWNER_BYTES) == 0;
}

/* Gives the entry a key between its neighbours. If these have different owners, the entry gets the
 * one before, or the one after if its damaged key still begins with that one. So no third owner is
 * reported as damaged. */
static void replace(struct entry *entry, struct nb_string before, struct nb_string next)
{
    bool is_nexts = same_owner(key_of(entry), next);
    assert(before.bytes != NULL || next.bytes != NULL); /* else any key would be in order */
    if (next.bytes != NULL && (before.bytes == NULL || is_nexts || same_owner(before, next)))
        put_below(entry->key, entry->length, next);
    else
        put_above(entry->key, entry->length, before);
}

/* Replaces keys from the last entry to the first, so that the key after each one is right. */
static void replace_all(struct nb_reordering *reordering, const struct leaf *leaf)
{
    struct nb_string next = leaf->bounds.to;
    struct nb_string before;
    for (unsigned i = leaf->count; i > 0; i--) {
        struct entry *entry = &leaf->entries[i - 1];
        bool below = next.bytes == NULL || nb_string_compare(key_of(entry), next) < 0;
        if (!entry->sound && !(is_above(leaf, i - 1, &before) && below)) {
            replace(entry, before, next);
            entry->sound = is_sound(leaf, entry); /* consecutive numbers: it may be the lost key */
            reordering->replaced++;
        }
        next = key_of(entry);
    }
}

/* ---- a leaf ---------------------------------------------------------------------------------- */

bool nb_leaf_is_sound(const struct nb_reordering *reordering, unsigned table,
                      const unsigned char *page)
{
    for (unsigned i = 0; i < nb_page_count(page); i++) {
        struct nb_node node = nb_page_node(page, i);
        struct nb_string value = {(const char *)node.value, node.size};
        if ((node.flags & NB_NODE_BIG) == 0 &&
            !reordering->is_sound(reordering->user, table, node.key, value))
            return false;
    }
    return true;
}

int nb_reorder_leaf(struct nb_reordering *reordering, unsigned table, unsigned char *page,
                    struct nb_bounds bounds, struct nb_error *error)
{
    struct leaf leaf = {
        .reordering = reordering, .table = table, .bounds = bounds, .count = nb_page_count(page)};
    int rc = 0;
    assert(reordering->is_sound != NULL);
    leaf.entries = calloc((size_t)leaf.count + 1, sizeof *leaf.entries);
    if (leaf.entries == NULL)
        return nb_error_no_memory(error);
    for (unsigned i = 0; rc == 0 && i < leaf.count; i++)
        rc = read_entry(reordering, &leaf, page, i, error);
    if (rc == 0) {
        replace_all(reordering, &leaf);
        for (unsigned i = 0; i < leaf.count; i++)
            reordering->damaged += !leaf.entries[i].sound;
    }
    for (unsigned i = 0; i < leaf.count; i++)
        free(leaf.entries[i].owned);
    free(leaf.entries);
    return rc;
}

/* ---- all pages ------------------------------------------------------------------------------- */

int nb_reordering_keep(struct nb_reordering *reordering, uint64_t number, const unsigned char *page,
                       struct nb_error *error)
{
    if (reordering->count == NB_REORDERED_MOST)
        return NB_CORRUPT;
    unsigned char *bytes = malloc(reordering->page_size);
    if (bytes == NULL)
        return nb_error_no_memory(error);
    memcpy(bytes, page, reordering->page_size);
    reordering->pages[reordering->count].number = number;
    reordering->pages[reordering->count++].bytes = bytes;
    return 0;
}

int nb_reordering_write(const struct nb_reordering *reordering, struct nb_error *error)
{
    for (unsigned i = 0; i < reordering->count; i++) {
        off_t at = (off_t)(reordering->pages[i].number * reordering->page_size);
        ssize_t written =
            pwrite(reordering->file, reordering->pages[i].bytes, reordering->page_size, at);
        if (written >= 0 && written != (ssize_t)reordering->page_size)
            errno = EIO;
        if (written != (ssize_t)reordering->page_size)
            return nb_error_errno(error, errno, reordering->path);
    }
    if (reordering->count > 0 && fdatasync(reordering->file) != 0)
        return nb_error_errno(error, errno, reordering->path);
    return 0;
}

void nb_reordering_deinit(struct nb_reordering *reordering)
{
    while (reordering->count > 0)
        free(reordering->pages[--reordering->count].bytes);
}
