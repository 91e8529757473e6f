/* SPDX-License-Identifier: Apache-2.0
 *
 * What an undo is asked for, of any bytes: read within its bounds, or refused with a reason.
 */
#include <stdlib.h>

#include "server/base/time.h"
#include "server/base/undo_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nb_json_undo undo;
    struct nb_error error = {0};
    struct nb_string input = {(const char *)data, size};
    int64_t moment = 0;
    if (nb_json_read_time(input, "from", &moment, NULL) == 0) {
        char text[NB_JSON_TIME_BYTES];
        int64_t back = -1;
        nb_json_format_time(moment, text);
        require(nb_json_read_time(nb_string_of(text), "from", &back, NULL) == 0 && back == moment);
    }
    if (nb_json_undo_read(input, &undo, &error) != 0) {
        require(error.text[0] != '\0');
        return 0;
    }
    require(undo.options.from < undo.options.to && undo.options.id_count <= NB_JSON_IDS);
    nb_json_undo_deinit(&undo);
    return 0;
}
