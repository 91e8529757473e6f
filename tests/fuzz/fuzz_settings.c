/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored settings of any bytes: read, and what was read writes and reads back as itself.
 */
#include <stdlib.h>
#include <string.h>

#include "core/bayes/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nb_settings first, second;
    struct nb_string input = {(const char *)data, size};
    if (nb_settings_read(&first, input, NULL) != 0)
        return 0;
    require(nb_settings_check(&first, NULL) == 0);
    struct nb_buffer once = {0};
    struct nb_buffer twice = {0};
    require(nb_settings_write(&first, &once) == 0);
    struct nb_string written = {once.bytes, once.length};
    require(nb_settings_read(&second, written, NULL) == 0);
    require(nb_settings_write(&second, &twice) == 0);
    require(once.length == twice.length && memcmp(once.bytes, twice.bytes, once.length) == 0);
    nb_settings_deinit(&first);
    nb_settings_deinit(&second);
    nb_buffer_deinit(&once);
    nb_buffer_deinit(&twice);
    return 0;
}
