/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/label_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct nb_string *one = a, *other = b;
    size_t both = one->length < other->length ? one->length : other->length;
    int order = both == 0 ? 0 : memcmp(one->bytes, other->bytes, both);
    return order != 0 ? order : (one->length > other->length) - (one->length < other->length);
}

static int too_large(struct nb_error *error)
{
    (void)nb_error_set(error, NB_UNUSABLE, "a document has at most %d labels, of %d bytes together",
                       NB_LABEL_SET_MOST, NB_LABEL_SET_BYTES - NB_LABEL_SET_MOST);
    return nb_error_about(error, NB_UNUSABLE, NULL, "labels");
}

static int append(struct nb_buffer *out, struct nb_string label)
{
    static const char mark[] = {NB_LABEL_SET_MARK};
    int rc = nb_buffer_append(out, mark, sizeof mark);
    return rc != 0 ? rc : nb_buffer_append(out, label.bytes, label.length);
}

int nb_label_set_write(struct nb_string *labels, size_t count, struct nb_buffer *out,
                       struct nb_error *error)
{
    int rc = 0;
    size_t kept = 0;
    out->length = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = nb_check_label(labels[i], error);
    if (rc != 0)
        return rc;
    if (count > 1)
        qsort(labels, count, sizeof *labels, compare);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (i > 0 && nb_string_same(labels[i], labels[i - 1]))
            continue;
        rc = append(out, labels[i]);
        kept++;
    }
    if (rc == 0 && kept == 0)
        rc = append(out, (struct nb_string){"", 0});
    if (rc != 0)
        return nb_error_no_memory(error);
    return kept > NB_LABEL_SET_MOST || out->length > NB_LABEL_SET_BYTES ? too_large(error) : 0;
}

bool nb_label_set_next(struct nb_string *rest, struct nb_string *label)
{
    if (rest->length <= 1)
        return false;
    assert(*rest->bytes == NB_LABEL_SET_MARK);
    const char *begin = rest->bytes + 1;
    const char *end = memchr(begin, NB_LABEL_SET_MARK, rest->length - 1);
    size_t length = end != NULL ? (size_t)(end - begin) : rest->length - 1;
    *label = (struct nb_string){begin, length};
    *rest = (struct nb_string){begin + length, rest->length - 1 - length};
    return true;
}

int nb_label_set_check(struct nb_string set, struct nb_error *error)
{
    struct nb_string rest = set, label, before = {"", 0};
    size_t count = 0;
    while (nb_label_set_next(&rest, &label)) {
        int rc = nb_check_label(label, error);
        if (rc != 0)
            return rc;
        if (count++ > 0 && compare(&before, &label) >= 0)
            return nb_error_set(error, NB_UNUSABLE, "the labels of a set are not in their order");
        before = label;
    }
    if (count > 0 && rest.length > 0)
        return nb_error_set(error, NB_UNUSABLE, "a set of labels ends with an empty one");
    return count > NB_LABEL_SET_MOST || set.length > NB_LABEL_SET_BYTES ? too_large(error) : 0;
}

size_t nb_label_set_size(struct nb_string set)
{
    struct nb_string label;
    size_t count = 0;
    while (nb_label_set_next(&set, &label))
        count++;
    return count;
}

bool nb_label_set_has(struct nb_string set, struct nb_string label)
{
    struct nb_string one;
    while (nb_label_set_next(&set, &one))
        if (nb_string_same(one, label))
            return true;
    return false;
}

size_t nb_label_set_list(struct nb_string set, struct nb_string labels[NB_LABEL_SET_MOST])
{
    size_t count = 0;
    while (count < NB_LABEL_SET_MOST && nb_label_set_next(&set, &labels[count]))
        count++;
    return count;
}

int nb_label_set_change(struct nb_string set, const struct nb_string *add,
                        const struct nb_string *remove, struct nb_buffer *out,
                        struct nb_error *error)
{
    struct nb_string labels[2 * NB_LABEL_SET_MOST];
    size_t count = nb_label_set_list(set, labels), kept = 0;
    if (add != NULL)
        count += nb_label_set_list(*add, labels + count);
    for (size_t i = 0; i < count; i++)
        if (remove == NULL || !nb_label_set_has(*remove, labels[i]))
            labels[kept++] = labels[i];
    return nb_label_set_write(labels, kept, out, error);
}

int nb_label_set_replace(struct nb_string set, struct nb_string from, struct nb_string to,
                         struct nb_buffer *out, struct nb_error *error)
{
    struct nb_string labels[NB_LABEL_SET_MOST];
    size_t count = nb_label_set_list(set, labels), kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct nb_string label = nb_string_same(labels[i], from) ? to : labels[i];
        if (label.length > 0)
            labels[kept++] = label;
    }
    return nb_label_set_write(labels, kept, out, error);
}
