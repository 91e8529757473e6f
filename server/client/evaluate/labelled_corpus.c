/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/evaluate/labelled_corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "server/client/base/terminal.h"
#include "server/client/files/files.h"

enum { NB_CORPUS_LABELS = 10000 };

/* ---- labels ---------------------------------------------------------------------------------- */

/* Returns the index of a label, NB_CORPUS_LABELS when it is not there. The label of the last
 * document is compared first: documents of one label often follow each other. */
static uint32_t find_label(const struct nb_labelled_corpus *corpus, struct nb_string label)
{
    size_t count = corpus->label_count;
    size_t first = corpus->count > 0 ? corpus->entries[corpus->count - 1].label : 0;
    for (size_t k = 0; k < count; k++) {
        size_t i = (first + k) % count;
        if (nb_string_equals(label, corpus->labels[i]))
            return (uint32_t)i;
    }
    return NB_CORPUS_LABELS;
}

static int add_label(struct nb_labelled_corpus *corpus, struct nb_string label,
                     struct nb_error *error)
{
    if (corpus->label_count == NB_CORPUS_LABELS)
        return nb_error_set(error, NB_TOO_LARGE, "there are more than %d labels", NB_CORPUS_LABELS);
    if (corpus->labels == NULL)
        corpus->labels = calloc(NB_CORPUS_LABELS, sizeof *corpus->labels);
    char *name = corpus->labels != NULL ? calloc(label.length + 1, 1) : NULL;
    if (name == NULL)
        return nb_error_no_memory(error);
    if (label.length > 0)
        memcpy(name, label.bytes, label.length);
    corpus->labels[corpus->label_count++] = name;
    return 0;
}

int nb_corpus_add_label(struct nb_labelled_corpus *corpus, struct nb_string label,
                        struct nb_error *error)
{
    return find_label(corpus, label) != NB_CORPUS_LABELS ? 0 : add_label(corpus, label, error);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the labels by name, as verdicts list them. Before, they are in the order of arrival. */
static int sort_labels(struct nb_labelled_corpus *corpus, struct nb_error *error)
{
    size_t count = corpus->label_count;
    char **sorted = calloc(count + 1, sizeof *sorted);
    uint32_t *places = calloc(count + 1, sizeof *places);
    if (sorted == NULL || places == NULL) {
        free(sorted);
        free(places);
        return nb_error_no_memory(error);
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = corpus->labels[i];
    qsort(sorted, count, sizeof *sorted, by_bytes);
    for (size_t i = 0; i < count; i++) {
        char **place = bsearch(&corpus->labels[i], sorted, count, sizeof *sorted, by_bytes);
        places[i] = place != NULL ? (uint32_t)(place - sorted) : 0;
    }
    for (size_t i = 0; i < corpus->count; i++)
        corpus->entries[i].label = places[corpus->entries[i].label];
    free(places);
    free(corpus->labels);
    corpus->labels = sorted;
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int write_item(struct nb_labelled_corpus *corpus, const struct nb_item *item,
                      struct nb_corpus_entry *entry, struct nb_error *error)
{
    struct nb_packer w = {.out = &corpus->texts};
    corpus->texts.length = 0;
    nb_pack_string(&w, (struct nb_string){item->name, strlen(item->name) + 1});
    nb_pack_string(&w, item->id);
    nb_pack_string(&w, item->values);
    nb_pack_string(&w, item->content);
    if (w.code != 0)
        return nb_error_no_memory(error);
    entry->length = (uint32_t)corpus->texts.length;
    if (fwrite(corpus->texts.bytes, 1, entry->length, corpus->file) != entry->length)
        return nb_temporary_fault(errno, error);
    corpus->written += entry->length;
    corpus->bytes += item->content.length + item->values.length;
    return 0;
}

static void tell(void *user, enum nb_file_news news, const char *name, const char *what)
{
    struct nb_labelled_corpus *corpus = user;
    if (corpus->tell != NULL) {
        corpus->tell(corpus->user, news, name, what);
    } else if (news != NB_FILE_REMARK) {
        corpus->unread++;
        nb_message("%s: %s", name, what);
    }
}

/* Reports a document without a label; the other documents are still read. */
static int refuse_unlabelled(struct nb_labelled_corpus *corpus, const struct nb_item *item,
                             struct nb_error *error)
{
    (void)nb_error_set(error, NB_INVALID,
                       "has no label: give it one in its row, or use --label, LABEL=PATH, "
                       "--by-folder or --format index%s",
                       corpus->hint == NULL ? "" : corpus->hint);
    tell(corpus, NB_FILE_REFUSED, item->name, error->text);
    return 0;
}

static int take_item(void *user, const struct nb_item *item, struct nb_error *error)
{
    struct nb_labelled_corpus *corpus = user;
    if (item->label.length == 0 && !corpus->takes_unlabelled && item->is_one_of_many)
        return refuse_unlabelled(corpus, item, error);
    if (item->label.length == 0 && !corpus->takes_unlabelled)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "%s has no label: use --label, LABEL=PATH, --by-folder or "
                            "--format index%s",
                            item->name, corpus->hint == NULL ? "" : corpus->hint);
    uint32_t label = find_label(corpus, item->label);
    int rc = nb_array_reserve(&corpus->entries, &corpus->room, corpus->count + 1,
                              sizeof *corpus->entries);
    if (rc != 0)
        return nb_error_no_memory(error);
    if (label == NB_CORPUS_LABELS) {
        label = (uint32_t)corpus->label_count;
        rc = add_label(corpus, item->label, error);
    }
    if (rc != 0)
        return rc;
    struct nb_corpus_entry *entry = &corpus->entries[corpus->count];
    *entry =
        (struct nb_corpus_entry){.offset = corpus->written, .label = label, .part = item->part};
    entry->is_mail = item->is_mail;
    entry->has_no_content = item->has_no_content;
    rc = write_item(corpus, item, entry, error);
    corpus->count += rc == 0;
    return rc;
}

int nb_labelled_corpus_read(struct nb_labelled_corpus *corpus,
                            const struct nb_files_options *options, char *const *paths,
                            size_t count, struct nb_error *error)
{
    const struct nb_files files = {
        .options = options, .take = take_item, .tell = tell, .user = corpus};
    int file = nb_temporary_file(error);
    corpus->file = file >= 0 ? fdopen(file, "w+") : NULL;
    if (file >= 0 && corpus->file == NULL)
        (void)close(file); /* nothing was written */
    if (corpus->file == NULL)
        return file < 0 ? file : nb_error_no_memory(error);
    int rc = nb_files_read(&files, paths, count, error);
    if (rc == 0 && fflush(corpus->file) != 0)
        rc = nb_temporary_fault(errno, error);
    return rc == 0 ? sort_labels(corpus, error) : rc;
}

void nb_labelled_corpus_deinit(struct nb_labelled_corpus *corpus)
{
    nb_strings_free(corpus->labels, corpus->label_count);
    free(corpus->entries);
    nb_buffer_deinit(&corpus->texts);
    if (corpus->file != NULL)
        (void)fclose(corpus->file); /* it was temporary */
    *corpus = (struct nb_labelled_corpus){0};
}

/* ---- using the corpus ------------------------------------------------------------------------ */

/* SplitMix64 (Steele, Lea and Flood 2014), which gives the same numbers on every machine. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void nb_labelled_corpus_shuffle(struct nb_labelled_corpus *corpus, uint64_t seed)
{
    for (size_t i = corpus->count; i > 1; i--) {
        size_t j = (size_t)(next_random(&seed) % i);
        struct nb_corpus_entry entry = corpus->entries[i - 1];
        corpus->entries[i - 1] = corpus->entries[j];
        corpus->entries[j] = entry;
    }
}

int nb_labelled_corpus_get(struct nb_labelled_corpus *corpus, size_t i, struct nb_item *item,
                           struct nb_error *error)
{
    const struct nb_corpus_entry *entry = &corpus->entries[i];
    struct nb_buffer *texts = &corpus->texts;
    texts->length = 0;
    if (nb_buffer_reserve(texts, entry->length) != 0)
        return nb_error_no_memory(error);
    while (texts->length < entry->length) {
        ssize_t got = pread(fileno(corpus->file), texts->bytes + texts->length,
                            entry->length - texts->length, (off_t)(entry->offset + texts->length));
        if (got == 0)
            return nb_error_set(error, NB_IO, "the temporary file has been cut");
        if (got < 0 && errno != EINTR)
            return nb_temporary_fault(errno, error);
        texts->length += got > 0 ? (size_t)got : 0;
    }
    struct nb_unpacker r = nb_unpacker_of(texts->bytes, texts->length);
    *item = (struct nb_item){.is_mail = entry->is_mail,
                             .has_no_content = entry->has_no_content,
                             .label = nb_string_of(corpus->labels[entry->label]),
                             .part = entry->part};
    item->name = nb_unpack_string(&r).bytes;
    item->id = nb_unpack_string(&r);
    item->values = nb_unpack_string(&r);
    item->content = nb_unpack_string(&r);
    return 0;
}
