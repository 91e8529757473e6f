/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/label/level_hint.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 64 /* bytes of a label in a message */ };

static int shown(struct nb_string s)
{
    return s.length < SHOWN ? (int)s.length : SHOWN;
}

/* Whether the one is the other as far as one of its slashes. */
static bool is_level_of(struct nb_string level, struct nb_string label)
{
    return level.length > 0 && level.length < label.length && label.bytes[level.length] == '/' &&
           memcmp(level.bytes, label.bytes, level.length) == 0;
}

void nb_level_hint_add(struct nb_level_hint *hint, struct nb_string wanted, struct nb_string label)
{
    if (is_level_of(wanted, label)) {
        if (!hint->is_below)
            (void)snprintf(hint->text, sizeof hint->text,
                           ": '%.*s' is a level of labels and no label itself; a label is named "
                           "in full, as '%.*s' is",
                           shown(wanted), wanted.bytes, shown(label), label.bytes);
        hint->is_below = true;
    } else if (hint->text[0] == '\0' && is_level_of(label, wanted)) {
        (void)snprintf(hint->text, sizeof hint->text,
                       ": the labels here end with '%.*s', name that one", shown(label),
                       label.bytes);
    }
}
