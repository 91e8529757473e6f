/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/reorder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/store/page.h"

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
