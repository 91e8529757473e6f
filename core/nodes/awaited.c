/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/awaited.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append(struct nb_awaiting *a, struct nb_awaited *entry)
{
    entry->older = a->newest;
    entry->newer = NULL;
    if (a->newest != NULL)
        a->newest->newer = entry;
    else
        a->oldest = entry;
    a->newest = entry;
}

static void unlink_entry(struct nb_awaiting *a, struct nb_awaited *entry)
{
    if (entry->older != NULL)
        entry->older->newer = entry->newer;
    else
        a->oldest = entry->newer;
    if (entry->newer != NULL)
        entry->newer->older = entry->older;
    else
        a->newest = entry->older;
}

struct nb_awaited *nb_awaiting_add(struct nb_awaiting *a, uint64_t until)
{
    struct nb_awaited *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return NULL;
    entry->number = a->next++;
    entry->until = until;
    struct nb_awaited **bucket = &a->buckets[entry->number % NB_AWAITED_BUCKETS];
    entry->next = *bucket;
    *bucket = entry;
    append(a, entry);
    return entry;
}

void nb_awaiting_id(const struct nb_awaiting *a, const struct nb_awaited *entry,
                    char id[NB_MESSAGE_ID_MOST])
{
    (void)snprintf(id, NB_MESSAGE_ID_MOST, "%016" PRIx64 "-%" PRIx64, a->instance, entry->number);
}

struct nb_awaited *nb_awaiting_find(const struct nb_awaiting *a, struct nb_string id)
{
    char text[NB_MESSAGE_ID_MOST];
    uint64_t instance, number;
    int length = 0;
    if (id.length >= sizeof text)
        return NULL;
    memcpy(text, id.bytes, id.length);
    text[id.length] = '\0';
    if (sscanf(text, "%16" SCNx64 "-%16" SCNx64 "%n", &instance, &number, &length) != 2 ||
        text[length] != '\0' || instance != a->instance)
        return NULL;
    struct nb_awaited *entry = a->buckets[number % NB_AWAITED_BUCKETS];
    while (entry != NULL && entry->number != number)
        entry = entry->next;
    return entry;
}

struct nb_awaited *nb_awaiting_expired(const struct nb_awaiting *a, uint64_t now)
{
    return a->oldest != NULL && a->oldest->until <= now ? a->oldest : NULL;
}

void nb_awaiting_hold(struct nb_awaiting *a, struct nb_awaited *entry)
{
    assert(!entry->is_held);
    entry->is_held = true;
    unlink_entry(a, entry);
}

void nb_awaiting_remove(struct nb_awaiting *a, struct nb_awaited *entry)
{
    struct nb_awaited **at = &a->buckets[entry->number % NB_AWAITED_BUCKETS];
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    if (!entry->is_held)
        unlink_entry(a, entry);
}
