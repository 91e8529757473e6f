/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/pages.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reports that a page of the tree is damaged; returns NB_CORRUPT. */
static int walk_damaged(const struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
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

/* Reads `length` bytes of a page from `offset` on. */
static int walk_read_at(const struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                        size_t offset, void *bytes, size_t length)
{
    off_t at = (off_t)(page * w->page_size + offset);
    ssize_t got = pread(w->question->file, bytes, length, at);
    if (got < 0)
        return nb_error_errno(w->error, errno, w->question->path);
    return (size_t)got == length ? 0 : walk_damaged(w, tree, page, "the file ends before it");
}

/* Marks a page as seen, in use or free; its number is at most `last_page`. */
static int walk_mark(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page)
{
    uint64_t bit = (uint64_t)1 << page % 64;
    assert(page <= w->last_page);
    if ((w->seen[page / 64] & bit) != 0)
        return walk_damaged(w, tree, page, "it is used twice");
    w->seen[page / 64] |= bit;
    return 0;
}

/* Checks that consecutive pages are in the file, and marks them as in use. */
static int walk_mark_used(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                          uint64_t count)
{
    if (page < 2 || page > w->last_page || count > w->last_page - page + 1)
        return walk_damaged(w, tree, page, "there is no such page");
    if (page + count > w->file_pages)
        return walk_damaged(w, tree, page, "the file ends before it");
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < count; i++)
        rc = walk_mark(w, tree, page + i);
    w->answer->used += count;
    return rc;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Returns the number in a key of the list of free pages. */
static uint64_t walk_number(struct nb_string key)
{
    size_t number;
    assert(key.length == sizeof number);
    memcpy(&number, key.bytes, sizeof number);
    return number;
}

static int compare(const struct nb_page_tree *tree, struct nb_string a, struct nb_string b)
{
    if (tree->kind == NB_FREE_TREE)
        return walk_number(a) < walk_number(b) ? -1 : walk_number(a) > walk_number(b);
    return nb_string_compare(a, b);
}

/* Checks that the keys of a page ascend and are within the bounds. Ignores the first key of a
 * branch, which has no meaning. Returns NULL, or a description of the fault. */
static const char *fault_of_keys(const struct nb_walk *w, const struct nb_page_tree *tree,
                                 const unsigned char *bytes, struct nb_bounds bounds)
{
    unsigned count = nb_page_count(bytes);
    bool branch = nb_page_kind(bytes) == NB_PAGE_BRANCH;
    bool any_order = w->question->any_order && !branch && tree->kind == NB_TABLE_TREE;
    struct nb_string before = bounds.from;
    for (unsigned i = branch; i < count; i++) {
        struct nb_string key = nb_page_node(bytes, i).key;
        if (tree->kind == NB_FREE_TREE ? key.length != NB_PAGE_WORD : key.length == 0)
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

/* Counts the damaged entries of a leaf, and puts its keys in order. NB_CORRUPT without a text: the
 * keys cannot be put in order. */
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

/* Checks that the keys of a page ascend and are within the bounds. In a leaf of a table, puts them
 * in order if damaged entries are the reason. */
static int walk_check_keys(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
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
    /* A damaged value is no fault of the page: readers of the value will notice it. */
    return what == NULL ? 0 : walk_damaged(w, tree, page, what);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Checks the overflow pages of a value. */
static int check_big(struct nb_walk *w, struct nb_page_tree *tree, const struct nb_node *node)
{
    unsigned char head[NB_PAGE_HEADER];
    uint32_t pages;
    if (node->overflow < 2 || node->overflow >= w->file_pages)
        return walk_damaged(w, tree, node->overflow, "there is no such page");
    int rc = walk_read_at(w, tree, node->overflow, 0, head, sizeof head);
    if (rc != 0)
        return rc;
    const char *what =
        nb_page_check_overflow(head, w->page_size, node->overflow, node->size, &pages);
    if (what != NULL)
        return walk_damaged(w, tree, node->overflow, what);
    tree->counted.overflow_pages += pages;
    return walk_mark_used(w, tree, node->overflow, pages);
}

/* Notes the record of a table, whose tree is walked later. */
static int note_table(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                      const struct nb_node *node)
{
    if (node->flags != NB_NODE_TREE || node->size != sizeof(struct nb_tree_record))
        return walk_damaged(w, tree, page, "it should hold tables only");
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

/* Marks `count` pages of w->ids as free. Their numbers must descend, also from *before. */
static int mark_free(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                     size_t count, uint64_t *before)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        uint64_t id = w->ids[i];
        if (id < 2 || id >= *before || id > w->last_page)
            return walk_damaged(w, tree, page, "it lists an impossible page as free");
        *before = id;
        rc = walk_mark(w, tree, id);
    }
    w->answer->free += count;
    return rc;
}

static int read_ids(const struct nb_walk *w, const struct nb_page_tree *tree,
                    const struct nb_node *node, uint64_t first, size_t count)
{
    size_t offset = (size_t)first * NB_PAGE_WORD;
    if ((node->flags & NB_NODE_BIG) != 0)
        return walk_read_at(w, tree, node->overflow, NB_PAGE_HEADER + offset, w->ids,
                            count * NB_PAGE_WORD);
    memcpy(w->ids, node->value + offset, count * NB_PAGE_WORD);
    return 0;
}

/* Checks an entry of the list of free pages: the number of pages that a transaction has freed, and
 * the numbers of these pages. */
static int check_free(struct nb_walk *w, struct nb_page_tree *tree, uint64_t page,
                      const struct nb_node *node)
{
    uint64_t room = node->size / NB_PAGE_WORD;
    tree->last_key = walk_number(node->key);
    if ((node->flags & ~(unsigned)NB_NODE_BIG) != 0 || room == 0 || tree->last_key == 0 ||
        tree->last_key > w->question->meta.transaction)
        return walk_damaged(w, tree, page, "it has an impossible entry");
    int rc = read_ids(w, tree, node, 0, 1);
    if (rc != 0)
        return rc;
    uint64_t count = w->ids[0];
    if (count > room - 1)
        return walk_damaged(w, tree, page, "it lists more free pages than there are");
    uint64_t before = UINT64_MAX;
    for (uint64_t at = 0; rc == 0 && at < count; at += NB_WALK_IDS_AT_ONCE) {
        size_t part = count - at < NB_WALK_IDS_AT_ONCE ? (size_t)(count - at) : NB_WALK_IDS_AT_ONCE;
        rc = read_ids(w, tree, node, 1 + at, part);
        if (rc == 0)
            rc = mark_free(w, tree, page, part, &before);
    }
    return rc;
}

/* Checks an entry of a leaf: its overflow pages, and, in the list of tables and in the list of free
 * pages, its value. */
static int walk_check_value(struct nb_walk *w, struct nb_page_tree *tree, uint64_t page,
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
        return walk_damaged(w, tree, page, "a value is of a wrong kind");
    return 0;
}

enum {
    /* Free pages that may lie beyond the end of the file: LMDB does not write a page that one
     * transaction has both allocated and freed. */
    PAGES_BEYOND = 1 << 20,
    AHEAD_MOST = 1 << 30, /* bytes; a larger file is not read ahead as a whole */
    FREE_FLAGS = 0x08,    /* LMDB's MDB_INTEGERKEY, in the record of the free list */
    FOLDER_FLAG = 0x4000, /* LMDB's MDB_NOSUBDIR, which may be stored there too */
};

/* ---- trees ----------------------------------------------------------------------------------- */

/* Reads a page of a tree into the buffer of its depth, and checks the page by itself. */
static int read_page(struct nb_walk *w, struct nb_page_tree *tree, uint64_t page, unsigned depth)
{
    bool leaf = depth + 1u == tree->record.depth;
    int rc = walk_mark_used(w, tree, page, 1);
    if (rc == 0 && w->levels[depth] == NULL) {
        w->levels[depth] = malloc(w->page_size);
        if (w->levels[depth] == NULL)
            return nb_error_no_memory(w->error);
    }
    if (rc == 0)
        rc = walk_read_at(w, tree, page, 0, w->levels[depth], w->page_size);
    if (rc != 0)
        return rc;
    const char *what =
        nb_page_check(w->levels[depth], w->page_size, page, leaf ? NB_PAGE_LEAF : NB_PAGE_BRANCH);
    if (what != NULL)
        return walk_damaged(w, tree, page, what);
    /* Only in the free list may LMDB leave a branch with a single page below it. */
    unsigned least = leaf || tree->kind == NB_FREE_TREE ? 1 : 2;
    if (nb_page_count(w->levels[depth]) < least)
        return walk_damaged(w, tree, page, "it has too few nodes");
    if (leaf)
        tree->counted.leaf_pages++;
    else
        tree->counted.branch_pages++;
    return 0;
}

static int check_subtree(struct nb_walk *w, struct nb_page_tree *tree, uint64_t page,
                         unsigned depth, struct nb_bounds bounds)
{
    int rc = read_page(w, tree, page, depth);
    unsigned char *bytes = w->levels[depth];
    if (rc == 0)
        rc = walk_check_keys(w, tree, page, bytes, bounds);
    unsigned count = rc == 0 ? nb_page_count(bytes) : 0;
    for (unsigned i = 0; rc == 0 && i < count; i++) {
        struct nb_node node = nb_page_node(bytes, i);
        if (depth + 1u == tree->record.depth) {
            rc = walk_check_value(w, tree, page, &node);
            continue;
        }
        struct nb_bounds inner = {.from = i == 0 ? bounds.from : node.key,
                                  .to =
                                      i + 1 == count ? bounds.to : nb_page_node(bytes, i + 1).key};
        rc = check_subtree(w, tree, node.child, depth + 1, inner);
    }
    return rc;
}

static bool flags_fit(const struct nb_page_tree *tree)
{
    if (tree->kind == NB_FREE_TREE)
        return (tree->record.flags & ~(unsigned)FOLDER_FLAG) == FREE_FLAGS;
    return tree->record.flags == 0;
}

static int check_tree(struct nb_walk *w, struct nb_page_tree *tree)
{
    const struct nb_tree_record *record = &tree->record;
    const struct nb_tree_record *counted = &tree->counted;
    bool empty = record->root == NB_NO_PAGE;
    if (!flags_fit(tree) || record->depth > NB_WALK_DEPTH_MOST || (record->depth == 0) != empty ||
        (record->pad != 0 && tree->kind != NB_FREE_TREE))
        return walk_damaged(w, tree, empty ? 0 : record->root, "its record is damaged");
    int rc =
        empty ? 0
              : check_subtree(w, tree, record->root, 0, (struct nb_bounds){{NULL, 0}, {NULL, 0}});
    if (rc != 0)
        return rc;
    if (counted->entries != record->entries || counted->leaf_pages != record->leaf_pages ||
        counted->branch_pages != record->branch_pages ||
        counted->overflow_pages != record->overflow_pages)
        return walk_damaged(w, tree, empty ? 0 : record->root,
                            "its counts are not those of its pages");
    return 0;
}

static int check_main(struct nb_walk *w)
{
    struct nb_page_tree tree = {
        .kind = NB_MAIN_TREE, .name = "list of tables", .record = w->question->meta.main};
    int rc = check_tree(w, &tree);
    w->answer->readable = rc == 0;
    return rc;
}

static int check_table(struct nb_walk *w, unsigned t)
{
    struct nb_page_tree tree = {
        .kind = NB_TABLE_TREE, .table = t, .name = w->question->tables[t], .record = w->records[t]};
    int rc = check_tree(w, &tree);
    if (rc == NB_CORRUPT)
        w->answer->damaged |= (uint32_t)1 << t;
    return rc;
}

/* Checks the list of free pages. Every transaction after the first frees pages, so the last entry
 * of the list must be that of the last transaction. */
static int check_free_list(struct nb_walk *w)
{
    const struct nb_meta *meta = &w->question->meta;
    struct nb_page_tree tree = {
        .kind = NB_FREE_TREE, .name = "list of free pages", .record = meta->free};
    int rc = check_tree(w, &tree);
    if (rc == 0 && meta->transaction > 1 && tree.last_key != meta->transaction)
        rc =
            walk_damaged(w, &tree, meta->transaction & 1, "it is not that of the last transaction");
    return rc;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int begin(struct nb_walk *w)
{
    const struct nb_meta *meta = &w->question->meta;
    struct nb_page_tree heads = {.kind = NB_MAIN_TREE, .name = "list of tables"};
    struct stat status;
    w->page_size = meta->free.pad;
    assert(w->page_size >= NB_PAGE_LEAST && w->page_size <= NB_PAGE_MOST);
    if (fstat(w->question->file, &status) != 0)
        return nb_error_errno(w->error, errno, w->question->path);
    w->file_pages = (uint64_t)status.st_size / w->page_size;
    w->last_page = meta->last_page;
    if (w->last_page < 1 || w->last_page > w->file_pages + PAGES_BEYOND)
        return nb_error_set(w->error, NB_CORRUPT,
                            "%s is damaged: it has %llu pages, %llu are in use; restore a backup",
                            w->question->path, (unsigned long long)w->file_pages,
                            (unsigned long long)w->last_page + 1);
    w->seen = calloc((size_t)(w->last_page / 64 + 1), sizeof *w->seen);
    w->ids = malloc(NB_WALK_IDS_AT_ONCE * sizeof *w->ids);
    if (w->seen == NULL || w->ids == NULL)
        return nb_error_no_memory(w->error);
    /* Trees are read in the order of their keys, not of their pages, so reading ahead helps. */
    if (w->file_pages * w->page_size <= AHEAD_MOST)
        (void)posix_fadvise(w->question->file, 0, 0, POSIX_FADV_WILLNEED);
    w->reordering = (struct nb_reordering){.file = w->question->file,
                                           .path = w->question->path,
                                           .is_sound = w->question->is_sound,
                                           .user = w->question->user,
                                           .page_size = w->page_size,
                                           .file_pages = w->file_pages};
    w->answer->used = 2;
    int rc = walk_mark(w, &heads, 0);
    return rc != 0 ? rc : walk_mark(w, &heads, 1);
}

static void end(struct nb_walk *w)
{
    for (unsigned i = 0; i < NB_WALK_DEPTH_MOST; i++)
        free(w->levels[i]);
    free(w->ids);
    free(w->seen);
    nb_reordering_deinit(&w->reordering);
}

/* Checks all trees. Continues with the other tables after damage in one; keeps the first error. */
static int check_all(struct nb_walk *w)
{
    int result = check_main(w);
    if (result != 0)
        return result;
    for (unsigned t = 0; t < w->question->table_count; t++) {
        if ((w->answer->present & (uint32_t)1 << t) == 0)
            continue;
        int rc = check_table(w, t);
        if (rc == 0)
            continue;
        if (rc != NB_CORRUPT)
            return rc;
        result = rc;
        w->error = &w->later;
    }
    int rc = check_free_list(w);
    return result != 0 ? result : rc;
}

int nb_pages_check(const struct nb_pages_question *question, struct nb_pages_answer *answer,
                   struct nb_error *error)
{
    struct nb_walk w = {.question = question, .answer = answer, .error = error};
    assert(question->table_count <= NB_PAGES_TABLES_MOST);
    *answer = (struct nb_pages_answer){.readable = false};
    int rc = begin(&w);
    if (rc == 0)
        rc = check_all(&w);
    if (rc == 0)
        rc = nb_reordering_write(&w.reordering, error);
    answer->damaged_entries = w.reordering.damaged;
    answer->replaced = w.reordering.replaced;
    end(&w);
    return rc;
}

uint64_t nb_pages_last_transaction(const struct nb_pages_question *question)
{
    const struct nb_tree_record *record = &question->meta.free;
    unsigned char bytes[NB_PAGE_MOST];
    uint32_t size = record->pad;
    uint64_t page = record->root;
    assert(size >= NB_PAGE_LEAST && size <= NB_PAGE_MOST);
    for (unsigned depth = 1; depth <= record->depth && depth <= NB_WALK_DEPTH_MOST; depth++) {
        bool leaf = depth == record->depth;
        if (page > INT64_MAX / NB_PAGE_MOST ||
            pread(question->file, bytes, size, (off_t)(page * size)) != (ssize_t)size ||
            nb_page_check(bytes, size, page, leaf ? NB_PAGE_LEAF : NB_PAGE_BRANCH) != NULL ||
            nb_page_count(bytes) == 0)
            return 0;
        struct nb_node last = nb_page_node(bytes, nb_page_count(bytes) - 1);
        if (leaf)
            return last.key.length == NB_PAGE_WORD ? walk_number(last.key) : 0;
        page = last.child;
    }
    return 0;
}
