/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists in the configuration: items separated by commas or blanks. Pure functions; any thread.
 */
#ifndef NB_SERVER_ACCESS_LIST_H
#define NB_SERVER_ACCESS_LIST_H

#include <stdbool.h>
#include <string.h>

#include "core/base/string.h"

/* Takes the next item off a list; false when there is none left. */
static inline bool nb_list_next(const char **list, struct nb_string *item)
{
    *list += strspn(*list, ", \t");
    *item = (struct nb_string){*list, strcspn(*list, ", \t")};
    *list += item->length;
    return item->length > 0;
}

/* How many items a list has. */
static inline size_t nb_list_count(const char *list)
{
    struct nb_string item;
    size_t count = 0;
    while (nb_list_next(&list, &item))
        count++;
    return count;
}

#endif
