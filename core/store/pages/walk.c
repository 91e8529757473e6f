/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/pages/walk.h"

#include <assert.h>
#include <errno.h>
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
