/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/memory.h"

#include <stdlib.h>

void nb_staging_deinit(struct nb_staging *s)
{
    nb_buffer_deinit(&s->features);
    nb_buffer_deinit(&s->bag);
    nb_buffer_deinit(&s->score);
    nb_buffer_deinit(&s->entry);
    nb_entry_deinit(&s->old);
    nb_entry_deinit(&s->restored);
    nb_family_deinit(&s->family);
    nb_buffer_deinit(&s->new_rows);
    free(s->known);
    free(s->rows);
    free(s->found);
    free(s->fresh);
    free(s->ids);
    free(s->texts);
}
