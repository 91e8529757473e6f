/* SPDX-License-Identifier: Apache-2.0 */
#include "server/events/event_queue.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/key.h"

const char *nb_event_type_name(enum nb_event_type type)
{
    static const char *const names[NB_EVENT_TYPES] = {[NB_EVENT_UNSURE] = "verdict.unsure",
                                                      [NB_EVENT_DRIFT] = "model.drift",
                                                      [NB_EVENT_QUARANTINE] = "model.quarantine",
                                                      [NB_EVENT_SUSPECTS] = "model.suspects"};
    assert(type < NB_EVENT_TYPES);
    return names[type];
}

struct nb_event *nb_event_new(enum nb_event_type type)
{
    struct nb_event *event = calloc(1, sizeof *event);
    if (event == NULL)
        return NULL;
    event->type = type;
    static_assert(sizeof event->id >= sizeof "msg_" + 32, "it fits");
    (void)snprintf(event->id, sizeof event->id, "msg_%016" PRIx64 "%016" PRIx64, nb_key_random(),
                   nb_key_random()); /* it fits */
    return event;
}

void nb_event_free(struct nb_event **event)
{
    if (*event == NULL)
        return;
    nb_buffer_deinit(&(*event)->body);
    free(*event);
    *event = NULL;
}

static struct nb_event *take_first(struct nb_event_queue *queue)
{
    struct nb_event *event = queue->first;
    assert((event != NULL) == (queue->count > 0));
    if (event != NULL) {
        queue->first = event->next;
        queue->count--;
    }
    return event;
}

void nb_event_queue_deinit(struct nb_event_queue *queue)
{
    struct nb_event *event;
    while ((event = take_first(queue)) != NULL)
        nb_event_free(&event);
}

struct nb_event *nb_event_queue_add(struct nb_event_queue *queue, struct nb_event *event)
{
    struct nb_event **at = &queue->first;
    assert(queue->most > 0);
    if (event->number == 0)
        event->number = ++queue->last_number;
    assert(event->number <= queue->last_number); /* its own: it was in the queue before */
    while (*at != NULL && (*at)->number < event->number)
        at = &(*at)->next;
    event->next = *at;
    *at = event;
    queue->count++;
    return queue->count > queue->most ? take_first(queue) : NULL;
}

struct nb_event *nb_event_queue_take(struct nb_event_queue *queue, uint64_t now, uint64_t *until)
{
    struct nb_event **first = NULL;
    *until = UINT64_MAX;
    for (struct nb_event **at = &queue->first; *at != NULL; at = &(*at)->next)
        if ((*at)->due < *until) {
            first = at;
            *until = (*at)->due;
        }
    if (first == NULL || *until > now)
        return NULL;
    struct nb_event *event = *first;
    *first = event->next;
    assert(queue->count > 0);
    queue->count--;
    return event;
}

uint64_t nb_event_pause(uint64_t attempts, uint64_t first, uint64_t most)
{
    uint64_t pause = first;
    assert(first > 0);
    for (uint64_t i = 1; i < attempts && pause < most; i++)
        pause *= 2;
    return pause < most ? pause : most;
}
