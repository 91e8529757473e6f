/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as CSV with documents: refused with a reason, or each row is one of as many cells as
 * the header has, told with its line where it is not, and JSON of an object that a document is read
 * from or refused with a reason.
 */
#include <stdlib.h>
#include <string.h>

#include "server/base/document_json.h"
#include "server/base/json_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* A field twice, "a" and "a[]", is refused by the reader of JSON. */
static void check_row(const struct nb_json_table *table)
{
    struct nb_string row = {table->json.bytes, table->json.length};
    struct nb_json_document document = {.has_content = false};
    struct nb_error error = {0};
    require(row.length >= 2 && row.bytes[0] == '{' && row.bytes[row.length - 1] == '}');
    require(memchr(row.bytes, '\n', row.length) == NULL && table->line > 1);
    if (nb_json_document_read(row, NB_VERB_CLASSIFY, &document, &error) == 0)
        nb_json_document_deinit(&document);
    else
        require(error.text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nb_string text = {size == 0 ? "" : (const char *)data, size};
    struct nb_error error = {0};
    struct nb_json_table table;
    int rc = nb_table_open(&table, text, &error);
    require(rc == 0 || error.text[0] != '\0');
    require(rc != 0 || (table.count > 0 && table.count <= NB_TABLE_COLUMNS));
    for (bool goes_on = rc == 0; goes_on;) {
        struct nb_error why = {0};
        rc = nb_table_next(&table, &why, &error);
        goes_on = rc == 1;
        require(rc >= 0 || error.text[0] != '\0');
        if (rc == 1 && why.code == 0)
            check_row(&table);
    }
    nb_table_close(&table);
    return 0;
}
