/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures how many megabytes per second the tokenizer reads on one thread, with hashing and
 * counting. The documents have about 3 KB, first ASCII, then Cyrillic, with the word lengths, the
 * repetitions and the punctuation of running text. With FILE arguments each file is a document
 * instead.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/buffer.h"
#include "tokenizer/document.h"
#include "tokenizer/text.h"

enum { DOCUMENTS = 1000, DOCUMENT_BYTES = 3000, VOCABULARY = 30000, SECONDS = 2 };

static uint64_t seed = 1763;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) * below >> 31);
}

struct language {
    const char *name;
    const char *const *letters; /* one letter per entry; frequent letters have several entries */
    size_t letter_count;
    const char *const *capitals; /* the capital of each entry of `letters` */
};

/* Appends the k-th word of a language, which is always the same; frequent words are short (Zipf).
 */
static void word(struct nb_buffer *out, const struct language *l, uint32_t k, bool capital)
{
    uint64_t saved = seed;
    seed = k * 2654435761u + 12345u;
    uint32_t length = k < 40 ? 1 + draw(3) : k < 400 ? 2 + draw(5) : 3 + draw(9);
    for (uint32_t i = 0; i < length; i++) {
        uint32_t letter = draw((uint32_t)l->letter_count);
        nb_buffer_puts(out, i == 0 && capital ? l->capitals[letter] : l->letters[letter]);
    }
    seed = saved;
}

static void document(struct nb_buffer *out, const struct language *l)
{
    size_t begin = out->length;
    bool capital = true;
    while (out->length - begin < DOCUMENT_BYTES) {
        double u = (double)(draw(1u << 30) + 1) / (1u << 30);
        /* Zipf: the logarithm of the rank is uniform. */
        word(out, l, (uint32_t)(exp(u * log(VOCABULARY)) - 1), capital);
        uint32_t dice = draw(100);
        capital = dice >= 94;
        if (dice < 2)
            nb_buffer_printf(out, " %u", draw(10000));
        nb_buffer_puts(out, dice < 86   ? " "
                            : dice < 92 ? ", "
                            : dice < 93 ? "-"
                            : dice < 94 ? "'s "
                            : dice < 99 ? ". "
                                        : "!\n\n");
    }
}

/* Returns the processor time of this thread, in nanoseconds. */
static uint64_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void measure(const char *name, const struct nb_buffer *texts, size_t count)
{
    static struct nb_key key;
    const unsigned char bytes[NB_KEY_BYTES] = {17, 63};
    nb_key_restore(&key, bytes);
    const struct nb_tokenizer_settings settings = {.fields = 1u << NB_FIELD_BODY};
    const struct nb_tokenizer_limits limits = NB_TOKENIZER_LIMITS_DEFAULT;
    struct nb_bag bag = {0};
    uint64_t bytes_done = 0;
    uint64_t documents = 0;
    uint64_t tokens = 0;
    uint64_t features = 0;
    uint64_t begin = cpu_time();
    uint64_t passed = 0;
    while ((passed = cpu_time() - begin) < SECONDS * UINT64_C(1000000000)) {
        for (size_t i = 0; i < count; i++) {
            struct nb_document d = {
                .kind = NB_DOCUMENT_TEXT, .bytes = texts[i].bytes, .length = texts[i].length};
            if (nb_document_tokenize(&d, &key, &settings, &limits, &bag) != 0)
                exit(1);
            bytes_done += d.length;
            tokens += bag.positions;
            features += bag.size;
        }
        documents += count;
    }
    double seconds = (double)passed / 1e9;
    printf(
        "tokenizer %-10s %7.1f MB/s  %6.2f us/document  %5.1f ns/token  (%.0f bytes, %.0f tokens, "
        "%.0f distinct)\n",
        name, (double)bytes_done / 1e6 / seconds, seconds * 1e6 / (double)documents,
        seconds * 1e9 / (double)tokens, (double)bytes_done / (double)documents,
        (double)tokens / (double)documents, (double)features / (double)documents);
    nb_bag_deinit(&bag);
}

static int measure_files(int count, char **names)
{
    struct nb_buffer *texts = calloc((size_t)count, sizeof *texts);
    for (int i = 0; texts != NULL && i < count; i++) {
        FILE *file = fopen(names[i], "rb");
        if (file == NULL) {
            perror(names[i]);
            return 1;
        }
        char block[4096];
        for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;)
            nb_buffer_append(&texts[i], block, n);
        fclose(file);
    }
    if (texts != NULL)
        measure("files", texts, (size_t)count);
    for (int i = 0; texts != NULL && i < count; i++)
        nb_buffer_deinit(&texts[i]);
    free(texts);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const ascii[] = {"e", "e", "e", "t", "t", "a", "a", "o", "o", "i",
                                        "n", "s", "h", "r", "d", "l", "u", "c", "m", "w",
                                        "f", "g", "y", "p", "b", "v", "k", "x", "q", "z"};
    static const char *const ascii_capitals[] = {"E", "E", "E", "T", "T", "A", "A", "O", "O", "I",
                                                 "N", "S", "H", "R", "D", "L", "U", "C", "M", "W",
                                                 "F", "G", "Y", "P", "B", "V", "K", "X", "Q", "Z"};
    static const char *const cyrillic[] = {"о", "о", "о", "е", "е", "а", "а", "и", "и", "н",
                                           "т", "с", "р", "в", "л", "к", "м", "д", "п", "у",
                                           "я", "ы", "ь", "г", "з", "б", "ч", "й", "х", "ж"};
    static const char *const cyrillic_capitals[] = {
        "О", "О", "О", "Е", "Е", "А", "А", "И", "И", "Н", "Т", "С", "Р", "В", "Л",
        "К", "М", "Д", "П", "У", "Я", "Ы", "Ь", "Г", "З", "Б", "Ч", "Й", "Х", "Ж"};
    static const struct language languages[] = {{"ASCII", ascii, 30, ascii_capitals},
                                                {"Cyrillic", cyrillic, 30, cyrillic_capitals}};
    uint64_t begin = cpu_time();
    if (nb_tokenizer_setup(NULL) != 0)
        return 1;
    printf("tokenizer setup %.1f ms\n", (double)(cpu_time() - begin) / 1e6);
    int rc = 0;
    if (argc > 1) {
        rc = measure_files(argc - 1, argv + 1);
    } else {
        static struct nb_buffer texts[DOCUMENTS];
        for (size_t l = 0; l < sizeof languages / sizeof *languages; l++) {
            for (size_t i = 0; i < DOCUMENTS; i++) {
                nb_buffer_deinit(&texts[i]);
                document(&texts[i], &languages[l]);
            }
            measure(languages[l].name, texts, DOCUMENTS);
        }
        for (size_t i = 0; i < DOCUMENTS; i++)
            nb_buffer_deinit(&texts[i]);
    }
    nb_tokenizer_teardown();
    return rc;
}
