/* SPDX-License-Identifier: Apache-2.0 */
#include "core/chain/chain.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/key.h"

void nb_witness_write(const struct nb_witness *w, char text[NB_WITNESS_TEXT])
{
    (void)snprintf(text, NB_WITNESS_TEXT, "%" PRIx64 "-%" PRIx64 "-%" PRIx64, w->position, w->chain,
                   w->member);
}

struct nb_witness nb_witness_read(const char *text)
{
    struct nb_witness w;
    int length = 0;
    if (sscanf(text, "%16" SCNx64 "-%16" SCNx64 "-%16" SCNx64 "%n", &w.position, &w.chain,
               &w.member, &length) != 3 ||
        text[length] != '\0')
        return (struct nb_witness){.position = 0};
    return w;
}

uint64_t nb_chain_hash(const char *id, struct nb_string message)
{
    uint64_t of_id = XXH3_64bits(id, strlen(id));
    return XXH3_64bits_withSeed(message.bytes, message.length, of_id);
}

uint64_t nb_chain_next(uint64_t chain, uint64_t position, uint64_t hash)
{
    const uint64_t all[] = {chain, position, hash};
    return XXH3_64bits(all, sizeof all);
}

static const struct nb_chained *nth(const struct nb_chain *c, size_t n)
{
    return &c->recent[(c->first + n) % NB_CHAIN_RECENT];
}

void nb_chain_add(struct nb_chain *c, uint64_t position, uint64_t value)
{
    assert(c->count == 0 || position > nb_chain_last(c).position);
    c->recent[(c->first + c->count) % NB_CHAIN_RECENT] = (struct nb_chained){position, value};
    if (c->count < NB_CHAIN_RECENT)
        c->count++;
    else
        c->first = (c->first + 1) % NB_CHAIN_RECENT;
}

struct nb_chained nb_chain_before(const struct nb_chain *c, uint64_t position)
{
    size_t low = 0; /* the answer is here or after */
    size_t high = c->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (nth(c, middle)->position <= position)
            low = middle;
        else
            high = middle;
    }
    return c->count > 0 ? *nth(c, low) : (struct nb_chained){0, 0};
}

bool nb_chain_at(const struct nb_chain *c, uint64_t position, uint64_t *value)
{
    struct nb_chained found = nb_chain_before(c, position);
    if (c->count == 0 || found.position != position)
        return false;
    *value = found.chain;
    return true;
}

struct nb_chained nb_chain_last(const struct nb_chain *c)
{
    return c->count > 0 ? *nth(c, c->count - 1) : (struct nb_chained){0, 0};
}
