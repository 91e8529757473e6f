/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as UTF-7: UTF-8 comes out, within the limit. And any text that iconv writes as UTF-7
 * reads back the same.
 */
#include <errno.h>
#include <iconv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "tokenizer/charset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
    if (!holds)
        __builtin_trap();
}

static void decode(const char *bytes, size_t length)
{
    struct nb_buffer out = {0};
    struct nb_buffer cut = {0};
    check(nb_utf7_to_utf8(bytes, length, 3 * length, &out) == 0);
    check(nb_utf8_is_valid((struct nb_string){out.bytes, out.length}));
    int rc = nb_utf7_to_utf8(bytes, length, out.length / 2, &cut);
    check(cut.length <= out.length / 2 && rc == (out.length > 0 ? NB_TOO_LARGE : 0));
    nb_buffer_deinit(&out);
    nb_buffer_deinit(&cut);
}

static void read_back(const char *text, size_t length)
{
    struct nb_buffer written = {0};
    struct nb_buffer again = {0};
    iconv_t cd = iconv_open("UTF-7", "UTF-8");
    check(cd != (iconv_t)-1 && nb_buffer_reserve(&written, 8 * length + 16) == 0);
    char *from = (char *)(uintptr_t)text;
    char *to = written.bytes;
    size_t left = length;
    size_t room = written.capacity;
    bool is_written = iconv(cd, &from, &left, &to, &room) != (size_t)-1 &&
                      iconv(cd, NULL, NULL, &to, &room) != (size_t)-1;
    if (is_written) {
        size_t size = (size_t)(to - written.bytes);
        check(nb_utf7_to_utf8(written.bytes, size, SIZE_MAX, &again) == 0);
        check(again.length == length && (length == 0 || memcmp(again.bytes, text, length) == 0));
    }
    (void)iconv_close(cd);
    nb_buffer_deinit(&written);
    nb_buffer_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decode((const char *)data, size);
    if (nb_utf8_is_valid((struct nb_string){(const char *)data, size}))
        read_back((const char *)data, size);
    return 0;
}
