/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/pages/pages.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/pages/page_walk.h"

enum {
    /* Pages beyond the end of the file that may be free: LMDB writes no page that the transaction
     * which took it has freed again. */
    PAGES_BEYOND = 1 << 20,
    AHEAD_MOST = 1 << 30, /* bytes of a file that is read ahead as a whole */
    FREE_FLAGS = 0x08,    /* LMDB's MDB_INTEGERKEY, in the record of the free list */
    FOLDER_FLAG = 0x4000, /* LMDB's MDB_NOSUBDIR, which may be stored there too */
};

/* ---- trees ----------------------------------------------------------------------------------- */

/* Reads a page of a tree into the buffer of its depth and checks it by itself. */
static int read_page(struct nb_walk *w, struct nb_page_tree *tree, uint64_t page, unsigned depth)
{
    bool leaf = depth + 1u == tree->record.depth;
    int rc = nb_walk_mark_used(w, tree, page, 1);
    if (rc == 0 && w->levels[depth] == NULL) {
        w->levels[depth] = malloc(w->page_size);
        if (w->levels[depth] == NULL)
            return nb_error_no_memory(w->error);
    }
    if (rc == 0)
        rc = nb_walk_read_at(w, tree, page, 0, w->levels[depth], w->page_size);
    if (rc != 0)
        return rc;
    const char *what =
        nb_page_check(w->levels[depth], w->page_size, page, leaf ? NB_PAGE_LEAF : NB_PAGE_BRANCH);
    if (what != NULL)
        return nb_walk_damaged(w, tree, page, what);
    /* LMDB may leave a branch with one page below it in the free list, but nowhere else. */
    unsigned least = leaf || tree->kind == NB_FREE_TREE ? 1 : 2;
    if (nb_page_count(w->levels[depth]) < least)
        return nb_walk_damaged(w, tree, page, "it has too few nodes");
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
        rc = nb_walk_check_keys(w, tree, page, bytes, bounds);
    unsigned count = rc == 0 ? nb_page_count(bytes) : 0;
    for (unsigned i = 0; rc == 0 && i < count; i++) {
        struct nb_node node = nb_page_node(bytes, i);
        if (depth + 1u == tree->record.depth) {
            rc = nb_walk_check_value(w, tree, page, &node);
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
        return nb_walk_damaged(w, tree, empty ? 0 : record->root, "its record is damaged");
    int rc =
        empty ? 0
              : check_subtree(w, tree, record->root, 0, (struct nb_bounds){{NULL, 0}, {NULL, 0}});
    if (rc != 0)
        return rc;
    if (counted->entries != record->entries || counted->leaf_pages != record->leaf_pages ||
        counted->branch_pages != record->branch_pages ||
        counted->overflow_pages != record->overflow_pages)
        return nb_walk_damaged(w, tree, empty ? 0 : record->root,
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

/* Every transaction after the first frees pages, and its list is the last one. */
static int check_free_list(struct nb_walk *w)
{
    const struct nb_meta *meta = &w->question->meta;
    struct nb_page_tree tree = {
        .kind = NB_FREE_TREE, .name = "list of free pages", .record = meta->free};
    int rc = check_tree(w, &tree);
    if (rc == 0 && meta->transaction > 1 && tree.last_key != meta->transaction)
        rc = nb_walk_damaged(w, &tree, meta->transaction & 1,
                             "it is not that of the last transaction");
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
    /* Trees are read in the order of their keys, which is not that of the pages. */
    if (w->file_pages * w->page_size <= AHEAD_MOST)
        (void)posix_fadvise(w->question->file, 0, 0, POSIX_FADV_WILLNEED);
    w->reordering = (struct nb_reordering){.file = w->question->file,
                                           .path = w->question->path,
                                           .is_sound = w->question->is_sound,
                                           .user = w->question->user,
                                           .page_size = w->page_size,
                                           .file_pages = w->file_pages};
    w->answer->used = 2;
    int rc = nb_walk_mark(w, &heads, 0);
    return rc != 0 ? rc : nb_walk_mark(w, &heads, 1);
}

static void end(struct nb_walk *w)
{
    for (unsigned i = 0; i < NB_WALK_DEPTH_MOST; i++)
        free(w->levels[i]);
    free(w->ids);
    free(w->seen);
    nb_reordering_deinit(&w->reordering);
}

/* Damage in one table does not keep the others from being looked at; the first error stays. */
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
            return last.key.length == sizeof(uint64_t) ? nb_walk_number(last.key) : 0;
        page = last.child;
    }
    return 0;
}
