/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/undo/undo_find.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/engine/engine.h"
#include "core/model/live.h"
#include "core/model/state.h"

/* Stored form of the options: a byte, 1 if a source was given, plus 2 if a label was; a string, the
 * source; three varints, from, to, and the number of ids; a string, the label, if one was given. */
enum { WITH_SOURCE = 1, WITH_LABEL = 2 };

struct nb_undo_noted {
    uint64_t entry;
    bool is_general; /* neither ids nor a label were given; a note has only the label's name */
    struct nb_undo_options options;
    char *source; /* owned: the options' source */
};

int nb_undo_options_write(const struct nb_undo_options *options, struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    nb_pack_u8(&p, (uint8_t)(options->has_source + (options->label.length > 0 ? WITH_LABEL : 0)));
    nb_pack_string(&p, options->source);
    nb_pack_varint(&p, (uint64_t)(options->from < 0 ? 0 : options->from));
    nb_pack_varint(&p, (uint64_t)(options->to < 0 ? 0 : options->to));
    nb_pack_varint(&p, options->id_count);
    if (options->label.length > 0)
        nb_pack_string(&p, options->label);
    return p.code;
}

static bool read_options(struct nb_string stored, struct nb_undo_note *note)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    uint8_t given = nb_unpack_u8(&u);
    note->options.has_source = (given & WITH_SOURCE) != 0;
    note->options.source = nb_unpack_string(&u);
    note->options.from = (int64_t)nb_unpack_bounded(&u, INT64_MAX);
    note->options.to = (int64_t)nb_unpack_bounded(&u, INT64_MAX);
    note->ids = nb_unpack_varint(&u);
    if ((given & WITH_LABEL) != 0)
        note->options.label = nb_unpack_string(&u);
    return nb_unpacker_done(&u);
}

int nb_undo_note_read(const struct nb_entry *entry, struct nb_undo_note *note,
                      struct nb_error *error)
{
    const struct nb_change *c = &entry->change;
    *note = (struct nb_undo_note){
        .entry = entry->number, .time = c->time, .by = c->source, .documents = c->undone_documents};
    if (c->kind != NB_CHANGE_UNDO || !read_options(c->request, note))
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: a note of an undo does not read back");
    return 0;
}

/* Whether a change matches the options, apart from its id and its label. */
static bool undo_options_match(const struct nb_undo_options *options,
                               const struct nb_change *change)
{
    return change->time >= options->from && change->time < options->to &&
           (!options->has_source || nb_string_same(change->source, options->source));
}

/* ---- the notes of a model -------------------------------------------------------------------- */

static void undo_notes_deinit(struct nb_undo_notes *notes)
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
    char *source = nb_string_copy(note.options.source);
    if (source == NULL ||
        nb_array_reserve(&notes->list, &notes->room, notes->count + 1, sizeof *notes->list) != 0) {
        free(source);
        return nb_error_no_memory(error);
    }
    note.options.source.bytes = source;
    notes->list[notes->count++] = (struct nb_undo_noted){
        note.entry, note.ids == 0 && note.options.label.length == 0, note.options, source};
    return 0;
}

/* Reads the notes into an empty list. Returns 0 or a code. */
static int undo_notes_load(struct nb_undo_notes *notes, const struct nb_view *view, uint32_t model,
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

/* Whether a note stands between two entries. */
static bool undo_notes_between(const struct nb_undo_notes *notes, uint64_t entry, uint64_t later)
{
    size_t first = first_behind(notes, entry);
    return first < notes->count && notes->list[first].entry < later;
}

/* Whether the change of an entry matches the options of a later undo. */
static bool undo_notes_tell(const struct nb_undo_notes *notes, uint64_t entry,
                            const struct nb_change *change)
{
    for (size_t i = first_behind(notes, entry); i < notes->count; i++)
        if (notes->list[i].is_general && undo_options_match(&notes->list[i].options, change))
            return true;
    return false;
}

enum {
    ENTRIES_MOST = 50000, /* examined in one snapshot: less than half a second */
    REPLACED_MOST = 100,  /* entries searched for the restored one */
};

static void clear(struct nb_undo_search *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->found[i].id);
    s->count = 0;
}

void nb_undo_search_deinit(struct nb_undo_search *search)
{
    clear(search);
    free(search->found);
    undo_notes_deinit(&search->notes);
    nb_entry_deinit(&search->earlier);
    nb_entry_deinit(&search->replaced);
    nb_entry_deinit(&search->entry);
    *search = (struct nb_undo_search){0};
}

static bool matches(const struct nb_undo_search *s, const struct nb_change *c)
{
    return (s->label == NB_NO_LABEL || c->label == s->label) && undo_options_match(s->options, c);
}

/* Reads an entry that another one has replaced. Sets *there to whether the ledger still has it. */
static int read_replaced(const struct nb_undo_search *s, uint64_t number, struct nb_entry *entry,
                         bool *there, struct nb_error *error)
{
    int rc = nb_ledger_read(&s->steps.view, number, entry, error);
    *there = rc == 0 && entry->change.kind == NB_CHANGE_TRAIN;
    return rc == NB_NOT_FOUND ? 0 : rc;
}

/* Whether an undo that restored the entry `old` would write an entry like `c`. */
static bool is_restored_by(const struct nb_change *old, const struct nb_change *c)
{
    return old->time == c->time && old->label == c->label && nb_string_same(old->source, c->source);
}

static int need_notes(struct nb_undo_search *s, struct nb_error *error)
{
    if (s->has_notes)
        return 0;
    undo_notes_deinit(&s->notes);
    int rc = undo_notes_load(&s->notes, &s->steps.view, s->steps.model, error);
    s->has_notes = rc == 0;
    return rc;
}

/* Finds the entry before `c`, which has the number `own`. If an undo wrote `c`, this is the entry
 * before the one that the undo restored, which has the same time and source as `c`. The undo took
 * back the entries between. Its note stands between `c` and the entry that `c` replaced; without a
 * note such an entry is a document learned twice from one source in a millisecond. */
static int number_before(struct nb_undo_search *s, const struct nb_change *c, uint64_t own,
                         uint64_t *before, struct nb_error *error)
{
    uint64_t number = *before = c->replaced;
    bool there = true;
    int rc = 0;
    for (int i = 0; rc == 0 && there && number != 0 && i < REPLACED_MOST; i++) {
        rc = read_replaced(s, number, &s->replaced, &there, error);
        if (rc != 0 || !there)
            break;
        assert(s->replaced.change.replaced < number);
        number = s->replaced.change.replaced;
        if (!is_restored_by(&s->replaced.change, c))
            continue;
        rc = need_notes(s, error);
        if (rc != 0 || !undo_notes_between(&s->notes, c->replaced, own))
            break;
        *before = number;
    }
    return rc;
}

/* Goes back from a current entry that matches to the newest one that neither matches nor was taken
 * back by an earlier undo. Numbers fall from entry to entry, so this ends. */
static int find_earlier(struct nb_undo_search *s, const struct nb_change *current,
                        struct nb_undo_found *f, struct nb_error *error)
{
    uint64_t number;
    bool there;
    int rc = number_before(s, current, f->number, &number, error);
    while (rc == 0 && number != 0) {
        const struct nb_change *c = &s->earlier.change;
        rc = read_replaced(s, number, &s->earlier, &there, error);
        if (rc == 0 && !there) {
            f->unknown_before = true;
            return 0;
        }
        if (rc == 0)
            rc = need_notes(s, error);
        if (rc != 0)
            return rc;
        if (!matches(s, c) && !undo_notes_tell(&s->notes, number, c)) {
            f->restored = number;
            f->restored_label = c->label == NB_NO_LABEL ? NB_EVALUATION_LEFT_OUT : c->label;
            return 0;
        }
        rc = number_before(s, c, number, &number, error);
    }
    return rc;
}

static int add(struct nb_undo_search *s, const struct nb_entry *entry, struct nb_error *error)
{
    const struct nb_change *c = &entry->change;
    struct nb_undo_found f = {.number = entry->number,
                              .first = c->first != 0 ? c->first : entry->number,
                              .label = c->label,
                              .restored_label = NB_EVALUATION_LEFT_OUT,
                              .id_length = c->id.length};
    int rc = s->label == NB_NO_LABEL ? find_earlier(s, c, &f, error) : 0;
    if (rc != 0)
        return rc;
    f.id = nb_string_copy(c->id);
    if (f.id == NULL ||
        nb_array_reserve(&s->found, &s->room, s->count + 1, sizeof *s->found) != 0) {
        free(f.id);
        return nb_error_no_memory(error);
    }
    s->found[s->count++] = f;
    return 0;
}

/* Notes whether a state that matches lies behind a current one that does not. Of no use if a
 * current one matches. */
static int look_behind(struct nb_undo_search *s, const struct nb_change *current,
                       struct nb_error *error)
{
    bool is_wanted = s->label == NB_NO_LABEL && s->count == 0 && !s->lies_behind;
    uint64_t number = is_wanted ? current->replaced : 0;
    bool there = true;
    int rc = 0;
    while (rc == 0 && there && number != 0 && !s->lies_behind) {
        rc = read_replaced(s, number, &s->earlier, &there, error);
        if (rc != 0 || !there)
            break;
        s->lies_behind = matches(s, &s->earlier.change);
        assert(s->earlier.change.replaced < number);
        number = s->earlier.change.replaced;
    }
    return rc;
}

static int visit(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct nb_undo_search *s = user;
    if (entry->number >= s->end) {
        s->is_done = true;
        return NB_STEP_ENDS;
    }
    if (s->count >= s->most)
        return NB_STEP_ENDS;
    return matches(s, &entry->change) ? add(s, entry, error)
                                      : look_behind(s, &entry->change, error);
}

static int look_for_ids(struct nb_undo_search *s, struct nb_error *error)
{
    int rc = 0;
    while (rc == 0 && s->from < s->options->id_count && s->count < s->most &&
           !nb_store_wanted(&s->steps.view)) {
        rc = nb_ledger_find(&s->steps.view, s->steps.model, s->options->ids[s->from], &s->entry,
                            error);
        if (rc == 0 && s->entry.number < s->end && matches(s, &s->entry.change))
            rc = add(s, &s->entry, error);
        if (rc == NB_NOT_FOUND)
            rc = 0;
        s->from++;
    }
    s->is_done = s->from >= s->options->id_count;
    return rc;
}

/* The number of a label stays when it is renamed while the search runs. */
static int find_label(struct nb_undo_search *s, const struct nb_live *live, struct nb_error *error)
{
    struct nb_string name = s->options->label;
    s->label = NB_NO_LABEL;
    if (name.length == 0)
        return 0;
    nb_model_read_lock(live->counts);
    uint32_t label;
    int rc = nb_live_label(live, name, &label, error);
    nb_model_unlock(live->counts);
    if (rc == 0)
        s->label = label;
    return rc;
}

int nb_undo_search_begin(struct nb_undo_search *search, struct nb_engine *engine,
                         const struct nb_live *live, const struct nb_undo_options *options,
                         uint64_t from, struct nb_error *error)
{
    struct nb_view view;
    assert(live->number != 0 && (options->id_count == 0 || options->ids != NULL));
    *search = (struct nb_undo_search){.options = options, .from = from};
    search->steps = (struct nb_ledger_steps){.store = engine->store,
                                             .model = live->number,
                                             .only = NB_LEDGER_LIVING,
                                             .most = ENTRIES_MOST,
                                             .visit = visit};
    int rc = find_label(search, live, error);
    if (rc == 0)
        rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_ledger_newest(&view, &search->end, error);
    search->end++;
    nb_store_snapshot_end(&view);
    return rc;
}

int nb_undo_search_some(struct nb_undo_search *search, size_t most, struct nb_error *error)
{
    struct nb_undo_search *s = search;
    clear(s);
    s->most = most;
    if (s->options->id_count > 0) {
        int rc = nb_store_snapshot(s->steps.store, &s->steps.view, error);
        if (rc != 0)
            return rc;
        rc = look_for_ids(s, error);
        nb_store_snapshot_end(&s->steps.view);
        return rc;
    }
    s->steps.user = s;
    s->steps.from = s->from;
    int rc = nb_ledger_step(&s->steps, error);
    s->from = s->steps.from;
    s->is_done = s->is_done || s->steps.is_done;
    return rc;
}
