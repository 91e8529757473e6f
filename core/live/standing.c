/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored form, in META under "cluster" for the first stream, with a byte of its number behind for
 * another: a byte for the format, 3; the streams' name, a string; how many there are; when this one
 * was created, and the position, varints; and of struct nb_link there the hash and the chain, 8
 * bytes each, `agreed`, a varint, and its chain, 8 bytes; and a trail (trail.h). A store that
 * follows a part of the models has the format 4, which older programs do not take for that of all
 * models, and the patterns at the end, a string.
 */
#include "core/live/standing.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/pack.h"
#include "core/live/state.h"
#include "core/store/ledger.h"

enum { FORMAT = 3, FORMAT_OF_A_PART = 4, KEY_MOST = 8 };

static struct nb_string key_of(unsigned which, char key[KEY_MOST])
{
    memcpy(key, "cluster", 7);
    key[7] = (char)which;
    return (struct nb_string){key, which == 0 ? 7 : 8};
}

/* ---- in the store ---------------------------------------------------------------------------- */

static int corrupt(struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT,
                        "the store is damaged: its place in the stream of its cluster does not "
                        "read back");
}

/* What is common to all streams is read with each of them. */
static int read_place(struct nb_standing *s, struct nb_place *p, struct nb_string value,
                      struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    uint8_t format = nb_unpack_u8(&u);
    if (format > FORMAT_OF_A_PART)
        return nb_error_set(error, NB_VERSION,
                            "the store's place in the stream of its cluster is of a newer bayesd");
    struct nb_string stream = nb_unpack_string(&u);
    s->streams = (unsigned)nb_unpack_bounded(&u, NB_STREAMS_MOST);
    p->created = nb_unpack_varint(&u);
    p->staged = p->written = nb_unpack_varint(&u);
    p->link.hash = nb_unpack_u64(&u);
    p->link.chain = nb_unpack_u64(&u);
    p->link.agreed = nb_unpack_varint(&u);
    p->link.agreed_chain = nb_unpack_u64(&u);
    nb_trail_unpack(&p->trail, &u);
    struct nb_string follow = {"", 0};
    if (format == FORMAT_OF_A_PART)
        follow = nb_unpack_string(&u);
    if (!nb_unpacker_done(&u) || format < FORMAT || follow.length > NB_FOLLOW_MOST ||
        stream.length > NB_STREAM_NAME_MOST || s->streams == 0 || p->link.agreed > p->written)
        return corrupt(error);
    memcpy(s->stream, stream.bytes, stream.length);
    s->stream[stream.length] = '\0';
    memcpy(s->follow, follow.bytes, follow.length);
    s->follow[follow.length] = '\0';
    atomic_store(&p->applied, p->written);
    return 0;
}

int nb_standing_read(struct nb_engine *engine, const struct nb_view *view, struct nb_error *error)
{
    struct nb_standing *s = &engine->standing;
    struct nb_string value;
    char key[KEY_MOST];
    for (unsigned i = 0; i < NB_STREAMS_MOST; i++) {
        int rc = nb_store_get(view, NB_TABLE_META, key_of(i, key), &value, error);
        if (rc == 0)
            rc = read_place(s, &s->places[i], value, error);
        if (rc != 0 && rc != NB_NOT_FOUND)
            return rc;
        s->is_known |= rc == 0;
    }
    return 0;
}

static int write_place(const struct nb_standing *s, unsigned which, const struct nb_view *view,
                       struct nb_error *error)
{
    const struct nb_place *p = &s->places[which];
    struct nb_buffer stored = {0};
    struct nb_packer w = {.out = &stored};
    char key[KEY_MOST];
    bool is_of_all = s->follow[0] == '\0';
    nb_pack_u8(&w, is_of_all ? FORMAT : FORMAT_OF_A_PART);
    nb_pack_string(&w, nb_string_of(s->stream));
    nb_pack_varint(&w, s->streams);
    nb_pack_varint(&w, p->created);
    nb_pack_varint(&w, p->staged);
    nb_pack_u64(&w, p->link.hash);
    nb_pack_u64(&w, p->link.chain);
    nb_pack_varint(&w, p->link.agreed);
    nb_pack_u64(&w, p->link.agreed_chain);
    nb_trail_pack(&p->trail, &w);
    if (!is_of_all)
        nb_pack_string(&w, nb_string_of(s->follow));
    int rc = w.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(view, NB_TABLE_META, key_of(which, key),
                                        nb_buffer_string(&stored), error);
    nb_buffer_deinit(&stored);
    return rc;
}

static bool is_due(const struct nb_place *p)
{
    return p->staged != p->written || p->is_due;
}

int nb_standing_write(struct nb_engine *engine, const struct nb_view *view, struct nb_error *error)
{
    const struct nb_standing *s = &engine->standing;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < s->streams; i++)
        if (is_due(&s->places[i]))
            rc = write_place(s, i, view, error);
    return rc;
}

static int copy_row(void *user, struct nb_string key, struct nb_string value,
                    struct nb_error *error)
{
    struct nb_view *to = user;
    return nb_store_put(to, NB_TABLE_META, key, value, error);
}

int nb_standing_copy(const struct nb_view *from, struct nb_view *to, struct nb_error *error)
{
    const struct nb_string places = {"cluster", 7}; /* with which stream behind, or not */
    const struct nb_string made = {"outbox", 6};
    int rc = nb_store_scan(from, NB_TABLE_META, places, places.length, copy_row, to, error);
    return rc != 0 ? rc
                   : nb_store_scan(from, NB_TABLE_META, made, made.length, copy_row, to, error);
}

void nb_standing_note(struct nb_engine *engine)
{
    struct nb_standing *s = &engine->standing;
    for (unsigned i = 0; i < s->streams; i++) {
        struct nb_place *p = &s->places[i];
        if (!is_due(p))
            continue;
        p->is_due = false;
        p->written = p->staged;
        atomic_store(&p->applied, p->written);
    }
}

void nb_standing_join(struct nb_engine *engine, struct nb_string stream, struct nb_string follow,
                      unsigned which, uint64_t created)
{
    struct nb_standing *s = &engine->standing;
    struct nb_place *p = &s->places[which];
    assert(stream.length <= NB_STREAM_NAME_MOST && follow.length <= NB_FOLLOW_MOST);
    assert(which < engine->settings.streams);
    if (!s->is_known) {
        memcpy(s->stream, stream.bytes, stream.length);
        s->stream[stream.length] = '\0';
        memcpy(s->follow, follow.bytes, follow.length);
        s->follow[follow.length] = '\0';
        s->streams = engine->settings.streams;
        s->is_known = true;
    }
    p->created = created;
    p->staged = p->written = 0;
    p->link = (struct nb_link){.hash = 0};
    p->trail = (struct nb_trail){.first = {{0}}};
    p->is_due = true;
}

void nb_standing_renew(struct nb_engine *engine, unsigned which, uint64_t created)
{
    struct nb_place *p = &engine->standing.places[which];
    assert(which < engine->settings.streams);
    p->created = created;
    p->is_due = true;
}

void nb_standing_name(const char *stream, unsigned streams, unsigned which,
                      char name[NB_STREAM_FULL_MOST + 1])
{
    size_t length = strnlen(stream, NB_STREAM_NAME_MOST);
    memcpy(name, stream, length);
    name[length] = '\0';
    if (streams > 1)
        (void)snprintf(name + length, NB_STREAM_FULL_MOST + 1 - length, "_%u",
                       which % NB_STREAMS_MOST);
}

uint64_t nb_standing_total(const struct nb_engine *engine)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < NB_STREAMS_MOST; i++)
        total += atomic_load(&engine->standing.places[i].applied);
    return total;
}

/* ---- changes --------------------------------------------------------------------------------- */

void nb_standing_mark(struct nb_engine *engine)
{
    struct nb_standing *s = &engine->standing;
    for (unsigned i = 0; i < s->streams; i++) {
        s->marked[i].staged = s->places[i].staged;
        s->marked[i].link = s->places[i].link;
    }
}

void nb_standing_return(struct nb_engine *engine)
{
    struct nb_standing *s = &engine->standing;
    for (unsigned i = 0; i < s->streams; i++) {
        s->places[i].staged = s->marked[i].staged;
        s->places[i].link = s->marked[i].link;
    }
}

bool nb_standing_stage(struct nb_engine *engine, const struct nb_relayed *relayed)
{
    struct nb_place *p = &engine->standing.places[relayed->stream];
    if (p->staged != relayed->after && p->staged != relayed->position)
        return false;
    p->staged = relayed->position;
    p->link = relayed->link;
    /* If the transaction fails the same change comes again: the trail need not be taken back. */
    nb_trail_add(&p->trail, (struct nb_chained){relayed->position, relayed->link.chain});
    nb_serials_follow(&engine->serials, relayed->stream, relayed->position);
    return true;
}

int nb_standing_born(struct nb_live *live, const struct nb_view *view, uint64_t *born,
                     struct nb_error *error)
{
    struct nb_error why = {0};
    uint64_t found = atomic_load(&live->born);
    int rc = found != 0 ? 0 : nb_ledger_first(view, live->number, &found, &why);
    if (rc == NB_NOT_FOUND)
        rc = nb_error_set(&why, NB_CORRUPT, "the store is damaged: the model has no entries");
    if (rc != 0)
        return nb_live_note(live, rc, &why, error);
    if (atomic_load(&live->persisted)) /* else the transaction that makes it may fail */
        atomic_store(&live->born, found);
    *born = found;
    return 0;
}

static int settle_preset(struct nb_live *live, enum nb_preset preset, struct nb_error *error)
{
    struct nb_settings settings;
    struct nb_published *published = NULL;
    if (live->published->settings.preset == (int)preset)
        return 0;
    nb_settings_init(&settings, preset);
    nb_settings_set_tokenizer(&settings, NULL);
    published = nb_published_next(&settings, live->key, live->published);
    nb_settings_deinit(&settings);
    if (published == NULL)
        return nb_error_no_memory(error);
    nb_live_publish_others(live, published);
    return 0;
}

int nb_standing_check(const struct nb_relayed *relayed, struct nb_live *live,
                      const struct nb_view *view, struct nb_error *error)
{
    uint64_t born = 0;
    int rc =
        relayed->born == 0 || live->number == 0 ? 0 : nb_standing_born(live, view, &born, error);
    if (rc != 0)
        return rc;
    if (relayed->born != born)
        return nb_error_set(error, NB_NOT_FOUND,
                            "the model was deleted or replaced while the document waited");
    if (relayed->creates == 0 && live->number == 0)
        return nb_error_set(error, NB_NOT_FOUND, "there is no model '%s'", live->name);
    if (live->number == 0)
        return settle_preset(live, (enum nb_preset)(relayed->creates - 1), error);
    return 0;
}

int64_t nb_standing_time(const struct nb_engine *engine)
{
    return engine->standing.time != 0 ? engine->standing.time : nb_clock_now();
}
