/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/handover.h"

#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/key.h"
#include "core/model/live/messages.h"
#include "core/model/live/relayed.h"
#include "core/model/live/state.h"
#include "core/nodes/operation.h"
#include "core/nodes/queue.h"

/* An entry of the new store's trace; the list is in the order of positions, then of ids. */
struct known {
    uint64_t position, checksum, id;
};

struct handing {
    struct nb_engine *to;
    unsigned stream;
    uint64_t agreed; /* the last position where both have the same */
    struct known *known;
    size_t known_count, room;
    uint64_t *ids; /* sorted */
    uint64_t lost, queued;
};

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int note_known(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct handing *h = user;
    if (nb_array_reserve(&h->known, &h->room, h->known_count + 1, sizeof *h->known) != 0)
        return nb_error_no_memory(error);
    h->known[h->known_count++] =
        (struct known){one->position, one->checksum, XXH3_64bits(one->id.bytes, one->id.length)};
    return 0;
}

static int find_agreed(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct handing *h = user;
    uint64_t first = h->known[0].position;
    (void)error;
    if (one->position >= first && one->position - first < h->known_count &&
        h->known[one->position - first].checksum == one->checksum)
        h->agreed = one->position;
    return 0;
}

static int hand_lost(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct handing *h = user;
    uint64_t id = XXH3_64bits(one->id.bytes, one->id.length);
    struct nb_operation o;
    if (bsearch(&id, h->ids, h->known_count, sizeof *h->ids, by_value) != NULL)
        return 0;
    int rc = nb_operation_read(&o, one->message, error);
    nb_operation_deinit(&o);
    if (rc == NB_NO_MEMORY)
        return rc;
    if (rc != 0 || o.kind == NB_OPERATION_RELAYED + (unsigned)NB_RELAYED_CHANGE_COMPARE)
        return 0;
    h->lost++;
    return nb_queue_adopt(h->to, h->stream, one->id, one->message, error);
}

/* If the traces have nothing in common, this node was away for long, and has lost nothing. */
static int hand_stream(struct nb_engine *from, struct handing *h, struct nb_error *error)
{
    h->known_count = 0;
    h->agreed = UINT64_MAX;
    int rc = nb_message_scan(h->to, NB_KEPT_TRACE, h->stream, 0, note_known, h, error);
    if (rc != 0 || h->known_count == 0)
        return rc;
    h->ids = malloc(h->known_count * sizeof *h->ids);
    if (h->ids == NULL)
        return nb_error_no_memory(error);
    for (size_t i = 0; i < h->known_count; i++)
        h->ids[i] = h->known[i].id;
    qsort(h->ids, h->known_count, sizeof *h->ids, by_value);
    if (h->known[0].position == 1) /* then the whole stream is known */
        h->agreed = 0;
    rc = nb_message_scan(from, NB_KEPT_TRACE, h->stream, 0, find_agreed, h, error);
    if (rc == 0 && h->agreed != UINT64_MAX)
        rc = nb_message_scan(from, NB_KEPT_TRACE, h->stream, h->agreed + 1, hand_lost, h, error);
    free(h->ids);
    return rc;
}

static int hand_queued(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct handing *h = user;
    h->queued++;
    return nb_queue_adopt(h->to, h->stream, one->id, one->message, error);
}

int nb_hand_over(struct nb_engine *from, struct nb_engine *to, uint64_t *queued, uint64_t *lost,
                 struct nb_error *error)
{
    struct handing h = {.to = to};
    unsigned streams = to->settings.streams;
    if (from->stream_states.is_known && from->stream_states.streams != streams)
        return nb_error_set(error, NB_CONFLICT, "the stores have other numbers of streams");
    int rc = 0;
    for (h.stream = 0; rc == 0 && h.stream < streams; h.stream++)
        rc = hand_stream(from, &h, error);
    free(h.known);
    for (h.stream = 0; rc == 0 && h.stream < streams; h.stream++)
        rc = nb_message_scan(from, NB_KEPT_QUEUE, h.stream, 0, hand_queued, &h, error);
    *lost = h.lost;
    *queued = h.queued;
    return rc;
}
