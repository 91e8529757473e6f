/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/pages/page_walk.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int nb_walk_damaged(const struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                    const char *what)
{
    if (tree->kind == NB_TABLE_TREE)
        return nb_error_set(w->error, NB_CORRUPT,
                            "%s is damaged: page %llu, table %s: %s; restore a backup, or try "
                            "bayesd --rebuild",
                            w->question->path, (unsigned long long)page, tree->name, what);
    return nb_error_set(w->error, NB_CORRUPT, "%s is damaged: page %llu, %s: %s; restore a backup",
                        w->question->path, (unsigned long long)page, tree->name, what);
}

int nb_walk_read_at(const struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                    size_t offset, void *bytes, size_t length)
{
    off_t at = (off_t)(page * w->page_size + offset);
    ssize_t got = pread(w->question->file, bytes, length, at);
    if (got < 0)
        return nb_error_errno(w->error, errno, w->question->path);
    return (size_t)got == length ? 0 : nb_walk_damaged(w, tree, page, "the file ends before it");
}

int nb_walk_mark(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page)
{
    uint64_t bit = (uint64_t)1 << page % 64;
    assert(page <= w->last_page);
    if ((w->seen[page / 64] & bit) != 0)
        return nb_walk_damaged(w, tree, page, "it is used twice");
    w->seen[page / 64] |= bit;
    return 0;
}

int nb_walk_mark_used(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                      uint64_t count)
{
    if (page < 2 || page > w->last_page || count > w->last_page - page + 1)
        return nb_walk_damaged(w, tree, page, "there is no such page");
    if (page + count > w->file_pages)
        return nb_walk_damaged(w, tree, page, "the file ends before it");
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < count; i++)
        rc = nb_walk_mark(w, tree, page + i);
    w->answer->used += count;
    return rc;
}

/* ---- keys --------------------------------------------------------------------------------------
 */

uint64_t nb_walk_number(struct nb_string key)
{
    uint64_t number;
    assert(key.length == sizeof number);
    memcpy(&number, key.bytes, sizeof number);
    return number;
}

static int compare(const struct nb_page_tree *tree, struct nb_string a, struct nb_string b)
{
    if (tree->kind == NB_FREE_TREE)
        return nb_walk_number(a) < nb_walk_number(b) ? -1 : nb_walk_number(a) > nb_walk_number(b);
    return nb_string_compare(a, b);
}

/* The keys of a page ascend, within the bounds. The first key of a branch means nothing. Returns
 * NULL, or what is wrong. */
static const char *fault_of_keys(const struct nb_walk *w, const struct nb_page_tree *tree,
                                 const unsigned char *bytes, struct nb_bounds bounds)
{
    unsigned count = nb_page_count(bytes);
    bool branch = nb_page_kind(bytes) == NB_PAGE_BRANCH;
    bool any_order = w->question->any_order && !branch && tree->kind == NB_TABLE_TREE;
    struct nb_string before = bounds.from;
    for (unsigned i = branch; i < count; i++) {
        struct nb_string key = nb_page_node(bytes, i).key;
        if (tree->kind == NB_FREE_TREE ? key.length != sizeof(uint64_t) : key.length == 0)
            return "a key has a wrong length";
        int order = before.bytes == NULL ? 1 : compare(tree, key, before);
        if (!any_order && (order < 0 || (order == 0 && (branch || i > 0))))
            return "its keys are not in order";
        before = key;
    }
    if (!any_order && bounds.to.bytes != NULL && before.bytes != NULL &&
        compare(tree, before, bounds.to) >= 0)
        return "its keys are beyond those of the next page";
    return NULL;
}

/* Looks for damaged entries in a leaf, and puts its keys in order. NB_CORRUPT without a text: they
 * cannot be put in order. */
static int reorder(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                   unsigned char *bytes, struct nb_bounds bounds)
{
    struct nb_reordering *r = &w->reordering;
    unsigned before = r->replaced;
    int rc = nb_reorder_leaf(r, tree->table, bytes, bounds, w->error);
    if (rc == 0 && fault_of_keys(w, tree, bytes, bounds) != NULL)
        return NB_CORRUPT;
    if (rc == 0 && w->answer->damaged_page == 0) {
        w->answer->damaged_page = page;
        w->answer->damaged_table = tree->table;
    }
    return rc == 0 && r->replaced != before ? nb_reordering_keep(r, page, bytes, w->error) : rc;
}

int nb_walk_check_keys(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                       unsigned char *bytes, struct nb_bounds bounds)
{
    int rc = NB_CORRUPT;
    const char *what = fault_of_keys(w, tree, bytes, bounds);
    bool may_reorder = w->question->is_sound != NULL && tree->kind == NB_TABLE_TREE &&
                       nb_page_kind(bytes) == NB_PAGE_LEAF;
    if (may_reorder && (what != NULL || !nb_leaf_is_sound(&w->reordering, tree->table, bytes)))
        rc = reorder(w, tree, page, bytes, bounds);
    if (rc != NB_CORRUPT)
        return rc;
    /* A damaged value is for those who read it. */
    return what == NULL ? 0 : nb_walk_damaged(w, tree, page, what);
}

/* ---- values ------------------------------------------------------------------------------------
 */

/* Checks the overflow pages of a value. */
static int check_big(struct nb_walk *w, struct nb_page_tree *tree, const struct nb_node *node)
{
    unsigned char head[NB_PAGE_HEADER];
    uint32_t pages;
    if (node->overflow < 2 || node->overflow >= w->file_pages)
        return nb_walk_damaged(w, tree, node->overflow, "there is no such page");
    int rc = nb_walk_read_at(w, tree, node->overflow, 0, head, sizeof head);
    if (rc != 0)
        return rc;
    const char *what =
        nb_page_check_overflow(head, w->page_size, node->overflow, node->size, &pages);
    if (what != NULL)
        return nb_walk_damaged(w, tree, node->overflow, what);
    tree->counted.overflow_pages += pages;
    return nb_walk_mark_used(w, tree, node->overflow, pages);
}

/* A named tree: notes its record for later. */
static int note_table(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                      const struct nb_node *node)
{
    if (node->flags != NB_NODE_TREE || node->size != sizeof(struct nb_tree_record))
        return nb_walk_damaged(w, tree, page, "it should hold tables only");
    for (unsigned t = 0; t < w->question->table_count; t++) {
        const char *name = w->question->tables[t];
        if (node->key.length != strlen(name) || memcmp(node->key.bytes, name, strlen(name)) != 0)
            continue;
        memcpy(&w->records[t], node->value, sizeof w->records[t]);
        w->answer->present |= (uint32_t)1 << t;
        return 0;
    }
    (void)snprintf(w->answer->unknown, sizeof w->answer->unknown, "%.*s", (int)node->key.length,
                   node->key.bytes);
    return 0;
}

/* Free pages are listed from the greatest number down. */
static int mark_free(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                     size_t count, uint64_t *before)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        uint64_t id = w->ids[i];
        if (id < 2 || id >= *before || id > w->last_page)
            return nb_walk_damaged(w, tree, page, "it lists an impossible page as free");
        *before = id;
        rc = nb_walk_mark(w, tree, id);
    }
    w->answer->free += count;
    return rc;
}

static int read_ids(const struct nb_walk *w, const struct nb_page_tree *tree,
                    const struct nb_node *node, uint64_t first, size_t count)
{
    size_t offset = (size_t)first * sizeof(uint64_t);
    if ((node->flags & NB_NODE_BIG) != 0)
        return nb_walk_read_at(w, tree, node->overflow, NB_PAGE_HEADER + offset, w->ids,
                               count * sizeof(uint64_t));
    memcpy(w->ids, node->value + offset, count * sizeof(uint64_t));
    return 0;
}

/* The pages that a transaction has freed: how many, and their numbers. */
static int check_free(struct nb_walk *w, struct nb_page_tree *tree, uint64_t page,
                      const struct nb_node *node)
{
    uint64_t room = node->size / sizeof(uint64_t);
    tree->last_key = nb_walk_number(node->key);
    if ((node->flags & ~(unsigned)NB_NODE_BIG) != 0 || room == 0 || tree->last_key == 0 ||
        tree->last_key > w->question->meta.transaction)
        return nb_walk_damaged(w, tree, page, "it has an impossible entry");
    int rc = read_ids(w, tree, node, 0, 1);
    if (rc != 0)
        return rc;
    uint64_t count = w->ids[0];
    if (count > room - 1)
        return nb_walk_damaged(w, tree, page, "it lists more free pages than there are");
    uint64_t before = UINT64_MAX;
    for (uint64_t at = 0; rc == 0 && at < count; at += NB_WALK_IDS_AT_ONCE) {
        size_t part = count - at < NB_WALK_IDS_AT_ONCE ? (size_t)(count - at) : NB_WALK_IDS_AT_ONCE;
        rc = read_ids(w, tree, node, 1 + at, part);
        if (rc == 0)
            rc = mark_free(w, tree, page, part, &before);
    }
    return rc;
}

int nb_walk_check_value(struct nb_walk *w, struct nb_page_tree *tree, uint64_t page,
                        const struct nb_node *node)
{
    int rc = 0;
    tree->counted.entries++;
    if ((node->flags & NB_NODE_BIG) != 0)
        rc = check_big(w, tree, node);
    if (rc != 0)
        return rc;
    if (tree->kind == NB_MAIN_TREE)
        return note_table(w, tree, page, node);
    if (tree->kind == NB_FREE_TREE)
        return check_free(w, tree, page, node);
    if ((node->flags & ~(unsigned)NB_NODE_BIG) != 0)
        return nb_walk_damaged(w, tree, page, "a value is of a wrong kind");
    return 0;
}
