/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/ndjson.h"

#include <assert.h>
#include <string.h>

#include "core/base/error.h"

/* A buffer that once held a line of megabytes is not kept for the small ones that follow. */
enum { KEEP_BYTES = 64 * 1024 };

void nb_splitter_init(struct nb_splitter *splitter, size_t most)
{
    *splitter = (struct nb_splitter){.most = most};
}

void nb_splitter_deinit(struct nb_splitter *splitter)
{
    nb_buffer_deinit(&splitter->rest);
}

static void forget_given(struct nb_splitter *s)
{
    if (!s->is_given)
        return;
    s->is_given = false;
    s->rest.length = 0;
    if (s->rest.capacity > KEEP_BYTES)
        nb_buffer_deinit(&s->rest);
}

static int keep(struct nb_splitter *s, const char *bytes, size_t length)
{
    if (s->is_skipping)
        return 0;
    assert(s->rest.length <= s->most);
    if (length > s->most - s->rest.length) {
        s->is_skipping = true;
        nb_buffer_deinit(&s->rest);
        return 0;
    }
    return nb_buffer_append(&s->rest, bytes, length);
}

/* Completes a line: `tail` is its end; its beginning may be in `rest`. Returns 1, 0 (blank) or
 * NB_NO_MEMORY. */
static int complete(struct nb_splitter *s, struct nb_string tail, struct nb_ndjson_line *line)
{
    *line = (struct nb_ndjson_line){.number = ++s->number};
    if (s->rest.length > 0 || s->is_skipping || tail.length > s->most) {
        if (keep(s, tail.bytes, tail.length) != 0)
            return NB_NO_MEMORY;
        line->is_too_long = s->is_skipping;
        s->is_skipping = false;
        s->is_given = true;
        tail = (struct nb_string){s->rest.bytes, s->rest.length};
    }
    line->text = tail;
    return line->is_too_long || nb_string_trim_start(tail, " \t\r").length > 0;
}

/* Skips empty lines at the front, of which a body may have millions. */
static void skip_empty(struct nb_splitter *s, struct nb_string *input)
{
    size_t count = 0;
    while (count < input->length && input->bytes[count] == '\n')
        count++;
    s->number += count;
    *input = nb_string_from(*input, count);
}

int nb_splitter_next(struct nb_splitter *splitter, struct nb_string *input,
                     struct nb_ndjson_line *line)
{
    int rc = 0;
    while (rc == 0 && input->length > 0) {
        forget_given(splitter);
        if (splitter->rest.length == 0 && !splitter->is_skipping)
            skip_empty(splitter, input);
        if (input->length == 0)
            return 0;
        const char *end = memchr(input->bytes, '\n', input->length);
        size_t length = end != NULL ? (size_t)(end - input->bytes) : input->length;
        if (end != NULL)
            rc = complete(splitter, (struct nb_string){input->bytes, length}, line);
        else
            rc = keep(splitter, input->bytes, length);
        size_t taken = end != NULL ? length + 1 : length;
        input->bytes += taken;
        input->length -= taken;
    }
    return rc;
}

int nb_splitter_last(struct nb_splitter *splitter, struct nb_ndjson_line *line)
{
    forget_given(splitter);
    if (splitter->rest.length == 0 && !splitter->is_skipping)
        return 0;
    return complete(splitter, (struct nb_string){NULL, 0}, line);
}

const char *nb_json_fault_hint(const char *fault)
{
    return strstr(fault, "invalid Unicode") != NULL
               ? "; it is half of a character, as of a text that was cut within an emoji: write "
                 "both halves, as in \\ud83d\\ude00, or neither"
               : "";
}
