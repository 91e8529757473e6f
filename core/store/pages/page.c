/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/pages/page.h"

#include <assert.h>
#include <string.h>

/* Places in a page's head, and in a node's. */
enum { KIND_AT = 10, LOWER_AT = 12, UPPER_AT = 14, PAGES_AT = 12 };
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

static uint64_t u64(const unsigned char *bytes)
{
    uint64_t value;
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

/* The value's size, or the low half of the child's page number: two halves of 16 bits. */
static uint32_t node_number(const unsigned char *node)
{
    return u16(node) | (uint32_t)u16(node + 2) << 16;
}

struct nb_node nb_page_node(const unsigned char *page, unsigned i)
{
    const unsigned char *at = page + u16(page + NB_PAGE_HEADER + 2 * (size_t)i);
    struct nb_node node = {.key = {(const char *)at + NODE_HEADER, u16(at + NODE_KEY_SIZE_AT)}};
    const unsigned char *value = at + NODE_HEADER + node.key.length;
    if (nb_page_kind(page) == NB_PAGE_BRANCH) {
        node.child = node_number(at) | (uint64_t)u16(at + NODE_FLAGS_AT) << 32;
        return node;
    }
    node.flags = u16(at + NODE_FLAGS_AT);
    node.size = node_number(at);
    if ((node.flags & NB_NODE_BIG) != 0)
        node.overflow = u64(value);
    else
        node.value = value;
    return node;
}

/* Bytes of the node at `at`, rounded up to even as LMDB does, or 0 if it reaches past the page. */
static uint32_t node_bytes(const unsigned char *page, uint32_t page_size, unsigned at, bool leaf)
{
    uint64_t size = NODE_HEADER + u16(page + at + NODE_KEY_SIZE_AT);
    if (leaf)
        size += (u16(page + at + NODE_FLAGS_AT) & NB_NODE_BIG) != 0 ? sizeof(uint64_t)
                                                                    : node_number(page + at);
    size = (size + 1) & ~(uint64_t)1;
    return size <= page_size - at ? (uint32_t)size : 0;
}

/* Whether the nodes lie side by side from `upper` to the end of the page: none reaches into
 * another, and none is listed twice. */
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
    if (u64(page) != number)
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
    if (u64(head) != number)
        return "it has another page's number";
    if (nb_page_kind(head) != NB_PAGE_OVERFLOW)
        return "it should hold a large value";
    if ((uint64_t)*pages * page_size < (uint64_t)size + NB_PAGE_HEADER)
        return "it is too short for its value";
    return NULL;
}
