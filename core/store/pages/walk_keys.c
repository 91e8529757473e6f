/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "core/store/pages/walk.h"

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

/* Mends a leaf. NB_CORRUPT without a text: its keys cannot be put in order. */
static int mend(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                unsigned char *bytes, struct nb_bounds bounds)
{
    struct nb_mending *m = &w->mending;
    unsigned before = m->corrected + m->replaced;
    int rc = nb_mend_leaf(m, tree->table, bytes, bounds, w->error);
    if (rc == 0 && fault_of_keys(w, tree, bytes, bounds) != NULL)
        return NB_CORRUPT;
    if (rc == 0 && w->answer->damaged_page == 0) {
        w->answer->damaged_page = page;
        w->answer->damaged_table = tree->table;
    }
    bool changed = m->corrected + m->replaced != before;
    return rc == 0 && changed ? nb_mending_keep(m, page, bytes, w->error) : rc;
}

int nb_walk_check_keys(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                       unsigned char *bytes, struct nb_bounds bounds)
{
    int rc = NB_CORRUPT;
    const char *what = fault_of_keys(w, tree, bytes, bounds);
    bool may_mend = w->question->is_sound != NULL && tree->kind == NB_TABLE_TREE &&
                    nb_page_kind(bytes) == NB_PAGE_LEAF;
    if (may_mend && (what != NULL || !nb_leaf_is_sound(&w->mending, tree->table, bytes)))
        rc = mend(w, tree, page, bytes, bounds);
    if (rc != NB_CORRUPT)
        return rc;
    /* A value that stays damaged is for those who read it. */
    return what == NULL ? 0 : nb_walk_damaged(w, tree, page, what);
}
