/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of any bytes to learn from: the first byte chooses JSON, NDJSON or CSV. Refused with a
 * reason, or a table within its bounds, from which something can be learned.
 */
#include <stdlib.h>

#include "core/networks/network/network_learn.h"
#include "server/api/network_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VALUES = 5000, TESTS = 200, CELLS = 5000 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_codes(const struct nb_columns *columns)
{
    require(columns->count >= 2 && columns->rows * columns->count <= VALUES);
    for (size_t c = 0; c < columns->count; c++) {
        const struct nb_column *column = &columns->columns[c];
        require(c == 0 || strcmp(columns->columns[c - 1].name, column->name) < 0);
        for (size_t s = 1; s < column->state_count; s++)
            require(strcmp(column->states[s - 1], column->states[s]) < 0);
        for (size_t row = 0; row < columns->rows; row++)
            require(column->codes[row] < column->state_count ||
                    column->codes[row] == NB_COLUMN_MISSING);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum nb_media media[] = {NB_MEDIA_JSON, NB_MEDIA_NDJSON, NB_MEDIA_CSV};
    struct nb_learn_settings settings = {
        .alpha = .05, .most_given = 2, .most_tests = TESTS, .most_cells = CELLS};
    struct nb_columns *columns = NULL;
    struct nb_learned learned;
    struct nb_error error = {0};
    if (size == 0)
        return 0;
    struct nb_string body = {(const char *)data + 1, size - 1};
    if (nb_rows_read(media[data[0] % 3], body, VALUES, &columns, &error) != 0) {
        require(error.text[0] != '\0');
        return 0;
    }
    check_codes(columns);
    if (nb_learn_columns(columns, &settings, &learned, NULL) == 0)
        nb_learned_deinit(&learned);
    nb_columns_free(&columns);
    return 0;
}
