/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored form of what was asked for: a byte, 1 if a source was named, 2 more if a label was; a
 * string, the source; three varints, from, to, and how many ids were given; a string, the label, if
 * one was named.
 */
#include "core/jobs/undo/notes.h"

#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/pack.h"

enum { WITH_SOURCE = 1, WITH_LABEL = 2 };

struct nb_undo_noted {
    uint64_t entry;
    bool is_general; /* no ids were given, and no label, of which notes have not the number */
    struct nb_undo_wish wish;
    char *source; /* owned: of the wish */
};

int nb_undo_wish_write(const struct nb_undo_wish *wish, struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    nb_pack_u8(&p, (uint8_t)(wish->has_source + (wish->label.length > 0 ? WITH_LABEL : 0)));
    nb_pack_string(&p, wish->source);
    nb_pack_varint(&p, (uint64_t)(wish->from < 0 ? 0 : wish->from));
    nb_pack_varint(&p, (uint64_t)(wish->to < 0 ? 0 : wish->to));
    nb_pack_varint(&p, wish->id_count);
    if (wish->label.length > 0)
        nb_pack_string(&p, wish->label);
    return p.code;
}

static bool read_wish(struct nb_string stored, struct nb_undo_note *note)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    uint8_t given = nb_unpack_u8(&u);
    note->wish.has_source = (given & WITH_SOURCE) != 0;
    note->wish.source = nb_unpack_string(&u);
    note->wish.from = (int64_t)nb_unpack_bounded(&u, INT64_MAX);
    note->wish.to = (int64_t)nb_unpack_bounded(&u, INT64_MAX);
    note->ids = nb_unpack_varint(&u);
    if ((given & WITH_LABEL) != 0)
        note->wish.label = nb_unpack_string(&u);
    return nb_unpacker_done(&u);
}

int nb_undo_note_read(const struct nb_entry *entry, struct nb_undo_note *note,
                      struct nb_error *error)
{
    const struct nb_change *c = &entry->change;
    *note = (struct nb_undo_note){
        .entry = entry->number, .time = c->time, .by = c->source, .documents = c->other};
    if (c->kind != NB_CHANGE_UNDO || !read_wish(c->settings, note))
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: a note of an undo does not read back");
    return 0;
}

bool nb_undo_wish_matches(const struct nb_undo_wish *wish, const struct nb_change *change)
{
    return change->time >= wish->from && change->time < wish->to &&
           (!wish->has_source || nb_string_same(change->source, wish->source));
}

/* ---- all of a model -------------------------------------------------------------------------- */

void nb_undo_notes_deinit(struct nb_undo_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->list[i].source);
    free(notes->list);
    *notes = (struct nb_undo_notes){0};
}

static int take_note(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct nb_undo_notes *notes = user;
    struct nb_undo_note note;
    int rc = nb_undo_note_read(entry, &note, error);
    if (rc != 0)
        return rc;
    char *source = nb_string_copy(note.wish.source);
    if (source == NULL ||
        nb_array_reserve(&notes->list, &notes->room, notes->count + 1, sizeof *notes->list) != 0) {
        free(source);
        return nb_error_no_memory(error);
    }
    note.wish.source.bytes = source;
    notes->list[notes->count++] = (struct nb_undo_noted){
        note.entry, note.ids == 0 && note.wish.label.length == 0, note.wish, source};
    return 0;
}

int nb_undo_notes_load(struct nb_undo_notes *notes, const struct nb_view *view, uint32_t model,
                       struct nb_error *error)
{
    return nb_ledger_walk_only(view, model, 0, NB_LEDGER_NOTES, take_note, notes, error);
}

/* The index of the first note behind an entry. */
static size_t first_behind(const struct nb_undo_notes *notes, uint64_t entry)
{
    size_t low = 0, high = notes->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (notes->list[middle].entry > entry)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool nb_undo_notes_between(const struct nb_undo_notes *notes, uint64_t entry, uint64_t later)
{
    size_t first = first_behind(notes, entry);
    return first < notes->count && notes->list[first].entry < later;
}

bool nb_undo_notes_tell(const struct nb_undo_notes *notes, uint64_t entry,
                        const struct nb_change *change)
{
    for (size_t i = first_behind(notes, entry); i < notes->count; i++)
        if (notes->list[i].is_general && nb_undo_wish_matches(&notes->list[i].wish, change))
            return true;
    return false;
}
