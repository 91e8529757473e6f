/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/store/pages/walk.h"

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
