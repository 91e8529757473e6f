/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replica/awaited.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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
    entry->older = a->newest;
    if (a->newest != NULL)
        a->newest->newer = entry;
    else
        a->oldest = entry;
    a->newest = entry;
    return entry;
}

void nb_awaiting_id(const struct nb_awaiting *a, const struct nb_awaited *entry,
                    char id[NB_MESSAGE_ID_MOST])
{
    (void)snprintf(id, NB_MESSAGE_ID_MOST, "%016" PRIx64 "-%" PRIx64, a->instance, entry->number);
}

static struct nb_awaited *remove_number(struct nb_awaiting *a, uint64_t number)
{
    struct nb_awaited **at = &a->buckets[number % NB_AWAITED_BUCKETS];
    while (*at != NULL && (*at)->number != number)
        at = &(*at)->next;
    struct nb_awaited *entry = *at;
    if (entry == NULL)
        return NULL;
    *at = entry->next;
    if (entry->older != NULL)
        entry->older->newer = entry->newer;
    else
        a->oldest = entry->newer;
    if (entry->newer != NULL)
        entry->newer->older = entry->older;
    else
        a->newest = entry->older;
    return entry;
}

struct nb_awaited *nb_awaiting_take(struct nb_awaiting *a, const char *id)
{
    uint64_t instance, number;
    int length = 0;
    if (sscanf(id, "%16" SCNx64 "-%16" SCNx64 "%n", &instance, &number, &length) != 2 ||
        id[length] != '\0' || instance != a->instance)
        return NULL;
    return remove_number(a, number);
}

struct nb_awaited *nb_awaiting_expired(struct nb_awaiting *a, uint64_t now)
{
    return a->oldest != NULL && a->oldest->until <= now ? remove_number(a, a->oldest->number)
                                                        : NULL;
}
