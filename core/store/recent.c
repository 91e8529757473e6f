/* SPDX-License-Identifier: Apache-2.0
 *
 * A skip list (Pugh 1990), sorted by table and key, with the newest change of a key first. Nodes
 * are only added, never removed: a change that is taken back stays in the list and is marked. A
 * node is complete before the first pointer to it is stored, and pointers are loaded with acquire,
 * so readers need no lock.
 */
#include "core/store/recent.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

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
