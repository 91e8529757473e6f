/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes in one of the usual charsets, which the first byte chooses; the second is the limit.
 */
#include <stdint.h>
#include <string.h>

#include "core/base/error.h"
#include "tokenizer/text/charset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {
        "utf-8",  "iso-8859-1", "iso-8859-2",  "windows-1251", "koi8-r",     "gb2312",
        "big5",   "shift_jis",  "iso-2022-jp", "euc-jp",       "euc-kr",     "utf-7",
        "utf-16", "utf-16be",   "utf-32",      "iso-2022-kr",  "iso-2022-cn"};
    if (size < 2)
        return 0;
    const char *name = names[data[0] % (sizeof names / sizeof *names)];
    size_t most = (size_t)data[1] * 16;
    struct nb_buffer out = {0};
    int rc = nb_charset_to_utf8(NULL, (struct nb_string){name, strlen(name)},
                                (const char *)data + 2, size - 2, most, &out, NULL);
    if ((rc != 0 && rc != NB_TOO_LARGE) || out.length > most)
        __builtin_trap();
    nb_buffer_deinit(&out);
    return 0;
}
