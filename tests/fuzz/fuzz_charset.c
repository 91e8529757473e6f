/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes in any charset of `iconv -l`: the first two bytes choose it, the third is the limit of
 * the output, the fourth of the work. It ends, within both.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tokenizer/charset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_NAMES = 2048 };

/* Usual ones first, so that small numbers in the corpus mean the same on every machine. */
static char names[MOST_NAMES][NB_CHARSET_NAME] = {
    "utf-8",     "iso-8859-1",  "iso-8859-2",  "windows-1251", "koi8-r",   "gb2312", "big5",
    "shift_jis", "iso-2022-jp", "euc-jp",      "euc-kr",       "utf-7",    "utf-16", "utf-16be",
    "utf-32",    "iso-2022-kr", "iso-2022-cn", "hz-gb-2312",   "x-unknown"};

static size_t count_names(void)
{
    static size_t count;
    char line[NB_CHARSET_NAME];
    if (count > 0)
        return count;
    while (names[count][0] != '\0')
        count++;
    FILE *list = popen("iconv -l", "re");
    while (list != NULL && count < MOST_NAMES && fgets(line, sizeof line, list) != NULL) {
        line[strcspn(line, "/, \n")] = '\0';
        if (line[0] != '\0')
            (void)snprintf(names[count++], NB_CHARSET_NAME, "%s", line);
    }
    if (list != NULL)
        (void)pclose(list);
    return count;
}

static void check(int holds)
{
    if (!holds)
        __builtin_trap();
}

/* A bound on the work for a text of `size` bytes: what each byte takes, and what the errors take
 * that every text may have. */
static uint64_t most_work(size_t size)
{
    return NB_CHARSET_OPEN + 32 * (uint64_t)size + UINT64_C(1000) * 4 * NB_CHARSET_CALL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    const char *name = names[(data[0] | (size_t)data[1] << 8) % count_names()];
    size_t most = (size_t)data[2] * 16;
    struct nb_bag_work work = {.left = data[3] == 0 ? UINT64_MAX : (uint64_t)data[3] << 8};
    uint64_t before = work.left;
    struct nb_charset_state state = {.work = &work};
    struct nb_buffer out = {0};
    int rc = nb_charset_to_utf8(&state, (struct nb_string){name, strlen(name)},
                                (const char *)data + 4, size - 4, most, &out, NULL);
    check(rc == 0 || rc == NB_TOO_LARGE || rc == NB_UNSUPPORTED);
    check(out.length <= most && work.left <= before);
    check(before < UINT64_MAX || before - work.left <= most_work(size));
    nb_buffer_deinit(&out);
    nb_charset_state_deinit(&state);
    return 0;
}
