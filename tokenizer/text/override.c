/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/override.h"

#include <stdbool.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/error.h"
#include "tokenizer/text/character.h"
#include "tokenizer/text/utf8_decode.h"

enum {
    EMBED_LEFT = 0x202A, /* embeddings: the letters inside keep the order of their script */
    EMBED_RIGHT = 0x202B,
    POP = 0x202C,
    OVERRIDE_LEFT = 0x202D,
    OVERRIDE_RIGHT = 0x202E,
    ISOLATE = 0x2066, /* as embeddings here, up to FIRST_ISOLATE */
    FIRST_ISOLATE = 0x2068,
    POP_ISOLATE = 0x2069,
    PARAGRAPH = 0x2029,
    DEPTH = 8
};

enum direction { UNKNOWN, LEFT, RIGHT };

/* An open override or embedding. */
struct level {
    size_t start;             /* where its content begins in the output */
    enum direction direction; /* direction of an override; UNKNOWN: an embedding */
    enum direction script;    /* direction of the first letter inside */
};

struct writer {
    struct nb_buffer *out;
    struct nb_buffer spare; /* owned */
    struct level levels[DEPTH];
    size_t depth;
    bool is_changed;
};

static enum direction script_of(uint32_t character)
{
    switch (utf8proc_get_property((utf8proc_int32_t)character)->bidi_class) {
    case UTF8PROC_BIDI_CLASS_L:
        return LEFT;
    case UTF8PROC_BIDI_CLASS_R:
    case UTF8PROC_BIDI_CLASS_AL:
        return RIGHT;
    default:
        return UNKNOWN;
    }
}

/* Whether a character stays with the one before it. */
static bool is_extending(uint32_t character)
{
    enum nb_kind kind = nb_packed_kind(nb_character(character));
    return kind == NB_KIND_MARK || kind == NB_KIND_IGNORED ||
           nb_character_class(character) == NB_CLASS_EXTEND;
}

/* Reverses the characters from `start` on and keeps marks behind their letters. */
static int turn(struct writer *w, size_t start)
{
    size_t length = w->out->length - start;
    w->spare.length = 0;
    if (nb_buffer_reserve(&w->spare, length) != 0)
        return NB_NO_MEMORY;
    const unsigned char *at = (const unsigned char *)w->out->bytes + start;
    const unsigned char *end = at + length;
    size_t rest = length;
    while (at < end) {
        const unsigned char *from = at, *next = at;
        (void)nb_utf8_decode(&next, end);
        do
            at = next;
        while (at < end && is_extending(nb_utf8_decode(&next, end)));
        rest -= (size_t)(at - from);
        memcpy(w->spare.bytes + rest, from, (size_t)(at - from));
    }
    if (length > 0)
        memcpy(w->out->bytes + start, w->spare.bytes, length);
    w->is_changed = w->is_changed || length > 0;
    return 0;
}

static void push(struct writer *w, enum direction direction)
{
    if (w->depth < DEPTH)
        w->levels[w->depth++] = (struct level){w->out->length, direction, UNKNOWN};
}

/* Ends the innermost level and puts its content in the order of the level around it. */
static int pop(struct writer *w)
{
    if (w->depth == 0)
        return 0;
    struct level level = w->levels[--w->depth];
    enum direction outer = w->depth > 0 ? w->levels[w->depth - 1].direction : UNKNOWN;
    enum direction script = level.script != UNKNOWN ? level.script : LEFT;
    if (w->depth > 0 && w->levels[w->depth - 1].script == UNKNOWN)
        w->levels[w->depth - 1].script = level.script;
    enum direction inner = level.direction != UNKNOWN ? level.direction : script;
    return inner != (outer != UNKNOWN ? outer : script) ? turn(w, level.start) : 0;
}

static int put(struct writer *w, uint32_t character, const unsigned char *from, size_t length)
{
    if (character == OVERRIDE_LEFT || character == OVERRIDE_RIGHT) {
        push(w, character == OVERRIDE_LEFT ? LEFT : RIGHT);
    } else if (character == EMBED_LEFT || character == EMBED_RIGHT ||
               (character >= ISOLATE && character <= FIRST_ISOLATE)) {
        push(w, UNKNOWN);
    } else if (character == POP || character == POP_ISOLATE) {
        return pop(w);
    } else {
        if (w->depth > 0 && w->levels[w->depth - 1].script == UNKNOWN)
            w->levels[w->depth - 1].script = script_of(character);
        return nb_buffer_append(w->out, from, length);
    }
    return 0;
}

static bool is_override(const unsigned char *at)
{
    return at[1] == 0x80 && (at[2] == 0xAD || at[2] == 0xAE);
}

/* Returns the next override at or after `at`; NULL if there is none. */
static const unsigned char *find(const unsigned char *at, const unsigned char *end)
{
    while (end - at >= 3 && (at = memchr(at, 0xE2, (size_t)(end - at) - 2)) != NULL) {
        if (is_override(at))
            return at;
        at++;
    }
    return NULL;
}

/* Appends one stretch: from `at` to the white space after the end of the overrides, or to the end
 * of the line. Moves *at there. */
static int stretch(struct writer *w, const unsigned char **at, const unsigned char *end)
{
    size_t start = w->out->length;
    bool was_inside = false;
    int rc = 0;
    w->is_changed = false;
    while (rc == 0 && *at < end) {
        const unsigned char *from = *at;
        uint32_t character = nb_utf8_decode(at, end);
        if (character == '\n' || character == PARAGRAPH ||
            (was_inside && w->depth == 0 && character <= ' '))
            break;
        rc = put(w, character, from, (size_t)(*at - from));
        was_inside = was_inside || w->depth > 0;
    }
    while (rc == 0 && w->depth > 0)
        rc = pop(w);
    if (rc != 0 || w->is_changed)
        return rc != 0 ? rc : nb_buffer_append(w->out, "\n", 1);
    w->out->length = start; /* its order on the screen is unchanged */
    return 0;
}

int nb_override_shown(const char *text, size_t length, struct nb_buffer *out)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    struct writer w = {.out = out};
    int rc = 0;
    while (rc == 0) {
        const unsigned char *found = find(at, end);
        if (found == NULL)
            break;
        while (found > at && found[-1] > ' ')
            found--;
        at = found;
        rc = stretch(&w, &at, end);
    }
    nb_buffer_deinit(&w.spare);
    return rc;
}
