/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target without libFuzzer, with any compiler:
 *
 *     fuzz_NAME [--seed N --runs N] FILE|FOLDER...
 *
 * replays every file and then runs N changed copies of them, the same ones for the same seed. The
 * input at hand is kept in ./fuzz-NAME-running until the run is over: after a crash, that is the
 * one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_INPUTS 10000
#define MOST_BYTES ((size_t)4 << 20)
/* Changes to one input at most; each adds at most CHUNK bytes. */
#define MOST_CHANGES 8
#define CHUNK 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

struct input {
    uint8_t *bytes; /* owned */
    size_t size;
};

struct fuzz {
    struct input *inputs; /* owned, room for MOST_INPUTS */
    size_t count;
    uint64_t random;
    char running_path[128];
    int running; /* descriptor of that file */
};

static void die(const char *what)
{
    (void)fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* splitmix64: one number of state, and every seed is a good one. */
static uint64_t next_random(struct fuzz *fuzz)
{
    uint64_t z = fuzz->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static size_t below(struct fuzz *fuzz, size_t most)
{
    return most == 0 ? 0 : (size_t)(next_random(fuzz) % most);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static void add_file(struct fuzz *fuzz, const char *path)
{
    FILE *in = fopen(path, "re");
    uint8_t *bytes = malloc(MOST_BYTES);
    if (in == NULL || bytes == NULL || fuzz->count == MOST_INPUTS)
        die(path);
    size_t size = fread(bytes, 1, MOST_BYTES, in);
    (void)fclose(in);
    fuzz->inputs[fuzz->count++] = (struct input){bytes, size};
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Sorted by name, so that a seed means the same inputs on every machine. */
static void add_folder(struct fuzz *fuzz, const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_visible, by_name);
    if (count < 0)
        die(folder);
    for (int i = 0; i < count; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        add_file(fuzz, path);
        free(entries[i]);
    }
    free(entries);
}

static void add_path(struct fuzz *fuzz, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        die(path);
    if (S_ISDIR(status.st_mode))
        add_folder(fuzz, path);
    else
        add_file(fuzz, path);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Runs the target on a copy of exactly this size, so that AddressSanitizer sees the first byte that
 * is read too much. */
static void run_one(struct fuzz *fuzz, const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL)
        die("memory");
    if (size > 0)
        memcpy(copy, bytes, size);
    if (ftruncate(fuzz->running, 0) != 0 || pwrite(fuzz->running, copy, size, 0) != (ssize_t)size)
        die(fuzz->running_path);
    (void)LLVMFuzzerTestOneInput(copy, size); /* 0 or -1 (uninteresting): both are fine */
    free(copy);
}

/* One change in place: a bit, a byte, a piece taken out, doubled, moved, or taken from another
 * input. Returns the new size. */
static size_t change(struct fuzz *fuzz, uint8_t *bytes, size_t size)
{
    size_t at = below(fuzz, size), piece = below(fuzz, CHUNK) + 1;
    const struct input *other = &fuzz->inputs[below(fuzz, fuzz->count)];
    size_t from = below(fuzz, other->size);
    piece = piece > size - at ? size - at : piece;
    switch (below(fuzz, 6)) {
    case 0:
        if (size > 0)
            bytes[at] ^= (uint8_t)(1u << below(fuzz, 8));
        return size;
    case 1:
        if (size > 0)
            bytes[at] = (uint8_t)next_random(fuzz);
        return size;
    case 2:
        memmove(bytes + at, bytes + at + piece, size - at - piece);
        return size - piece;
    case 3:
        memmove(bytes + at + piece, bytes + at, size - at);
        return size + piece;
    case 4:
        return at;
    default:
        piece = other->size - from < CHUNK ? other->size - from : CHUNK;
        memmove(bytes + at + piece, bytes + at, size - at);
        if (piece > 0)
            memcpy(bytes + at, other->bytes + from, piece);
        return size + piece;
    }
}

static void run_changed(struct fuzz *fuzz, uint8_t *buffer)
{
    const struct input *input = &fuzz->inputs[below(fuzz, fuzz->count)];
    size_t size = input->size;
    if (size > 0)
        memcpy(buffer, input->bytes, size);
    for (size_t changes = below(fuzz, MOST_CHANGES) + 1; changes > 0; changes--)
        size = change(fuzz, buffer, size);
    run_one(fuzz, buffer, size);
}

static void begin(struct fuzz *fuzz, int *argc, char ***argv)
{
    const char *slash = strrchr((*argv)[0], '/');
    if (LLVMFuzzerInitialize != NULL)
        (void)LLVMFuzzerInitialize(argc, argv);
    (void)snprintf(fuzz->running_path, sizeof fuzz->running_path, "%.100s-running",
                   slash == NULL ? (*argv)[0] : slash + 1);
    fuzz->running = open(fuzz->running_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fuzz->running < 0)
        die(fuzz->running_path);
    fuzz->inputs = calloc(MOST_INPUTS, sizeof *fuzz->inputs);
    if (fuzz->inputs == NULL)
        die("memory");
    fuzz->inputs[fuzz->count++] = (struct input){calloc(1, 1), 0}; /* the empty input, always */
}

static void end(struct fuzz *fuzz)
{
    for (size_t i = 0; i < fuzz->count; i++)
        free(fuzz->inputs[i].bytes);
    free(fuzz->inputs);
    (void)close(fuzz->running);
    (void)unlink(fuzz->running_path);
}

int main(int argc, char **argv)
{
    struct fuzz fuzz = {0};
    unsigned long runs = 0, seed = 1763;
    begin(&fuzz, &argc, &argv);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
            runs = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoul(argv[++i], NULL, 10);
        else
            add_path(&fuzz, argv[i]);
    }
    fuzz.random = seed;
    uint8_t *buffer = malloc(MOST_BYTES + (size_t)MOST_CHANGES * CHUNK);
    if (buffer == NULL)
        die("memory");
    for (size_t i = 0; i < fuzz.count; i++)
        run_one(&fuzz, fuzz.inputs[i].bytes, fuzz.inputs[i].size);
    for (unsigned long run = 0; run < runs; run++)
        run_changed(&fuzz, buffer);
    (void)printf("%s: %zu inputs, %lu changed copies (seed %lu)\n", argv[0], fuzz.count, runs,
                 seed);
    free(buffer);
    end(&fuzz);
    return EXIT_SUCCESS;
}
