/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stream of changes brings (core/nodes/operation.h): whatever reads back is walked
 * through, and written again it reads back the same.
 */
#include <stdint.h>
#include <stdlib.h>

#include "core/nodes/operation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good)
{
    if (!good)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nb_operation o;
    struct nb_operation again;
    struct nb_error error = {0};
    struct nb_buffer out = {0};
    int rc = nb_operation_read(&o, (struct nb_string){(const char *)data, size}, &error);
    must(rc == 0 || ((rc == NB_CORRUPT || rc == NB_VERSION) && error.text[0] != '\0'));
    if (rc == 0) {
        for (size_t i = 0; i < o.change.other_count; i++)
            must(o.change.others[i].count > 0 && nb_submitted_text(&o.change, i).length <= size);
        must(nb_operation_write(&o, &out, NULL) == 0);
        must(nb_operation_read(&again, nb_buffer_string(&out), NULL) == 0);
        must(again.relayed_change.kind == o.relayed_change.kind &&
             again.change.other_count == o.change.other_count);
        nb_operation_deinit(&again);
    }
    nb_operation_deinit(&o);
    nb_buffer_deinit(&out);
    return 0;
}
