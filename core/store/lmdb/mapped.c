/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of the file that count as memory of the process.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/store/lmdb/store_private.h"

/* Of all files, the libraries' among them (10 MiB or so): it is not worth the calls for less. */
#define MAPPED_MOST ((uint64_t)32 << 20)

struct map {
    uintptr_t begin, end;
};

/* Third number of /proc/self/statm, in bytes; 0 if it cannot be read. */
static uint64_t mapped_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    uint64_t size, resident, shared;
    if (file == NULL)
        return 0;
    if (fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64, &size, &resident, &shared) != 3)
        shared = 0;
    (void)fclose(file); /* was only read */
    return shared * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Whether a line of /proc/self/maps is of a shared map of a file with the address `at`. */
static bool read_line(const char *line, uintptr_t at, struct map *map)
{
    char mode[5];
    return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &map->begin, &map->end, mode) == 3 &&
           at >= map->begin && at < map->end && mode[3] == 's';
}

static bool find_map(uintptr_t at, struct map *map)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    if (file == NULL)
        return false;
    while (!found && getline(&line, &room, file) > 0)
        found = read_line(line, at, map);
    free(line);
    (void)fclose(file); /* was only read */
    return found;
}

/* LMDB does not tell where its map is, but each value that is read lies in it. The kernel knows the
 * bounds. */
void nb_store_unmap_pages(struct nb_store *store)
{
    struct nb_view view;
    struct nb_string value;
    struct map map;
    if (mapped_bytes() < MAPPED_MOST || nb_store_snapshot(store, &view, NULL) != 0)
        return;
    if (nb_store_get(&view, NB_TABLE_META, (struct nb_string){"format", 6}, &value, NULL) == 0 &&
        find_map((uintptr_t)value.bytes, &map))
        /* Of a shared map of a file this changes nothing that can be read. */
        (void)madvise((void *)map.begin, map.end - map.begin, MADV_DONTNEED);
    nb_store_snapshot_end(&view);
}
