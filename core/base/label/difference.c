/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/label/difference.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/label/label.h"
#include "core/base/label/near.h"

static utf8proc_uint8_t *folded(struct nb_string s, utf8proc_ssize_t *length)
{
    utf8proc_uint8_t *made = NULL;
    *length = utf8proc_map((const utf8proc_uint8_t *)s.bytes, (utf8proc_ssize_t)s.length, &made,
                           UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);
    return *length < 0 ? NULL : made;
}

static bool differ_in_case(struct nb_string a, struct nb_string b)
{
    utf8proc_ssize_t a_length, b_length;
    utf8proc_uint8_t *x = folded(a, &a_length), *y = folded(b, &b_length);
    bool do_so =
        x != NULL && y != NULL && a_length == b_length && memcmp(x, y, (size_t)a_length) == 0;
    free(x);
    free(y);
    return do_so;
}

enum nb_label_difference nb_label_difference_of(struct nb_string a, struct nb_string b)
{
    if (nb_label_looks_same(a, b))
        return differ_in_case(a, b) ? NB_LABEL_CAPITALS : NB_LABEL_UNSEEN;
    return nb_near_is(a, b) ? NB_LABEL_NEAR : NB_LABEL_OTHER;
}

static const char *text_of(enum nb_label_difference difference)
{
    return difference == NB_LABEL_CAPITALS ? "only by capitals"
           : difference == NB_LABEL_UNSEEN ? "only by characters that are not seen or look the same"
                                           : "by one or two letters";
}

void nb_label_difference_say(struct nb_string label, struct nb_string old,
                             enum nb_label_difference difference, char text[NB_LABEL_WARNING])
{
    assert(difference != NB_LABEL_OTHER);
    (void)snprintf(text, NB_LABEL_WARNING, "the label '%.*s' is new and differs from '%.*s' %s",
                   (int)label.length, label.bytes, (int)old.length, old.bytes, text_of(difference));
}
