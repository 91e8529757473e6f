/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/staging.h"

#include <assert.h>

#include "core/model/live/live.h"

int nb_stage_refuse(struct nb_stage *s, int code, const char *text)
{
    struct nb_receipt *receipt = &s->change->receipt;
    assert(code != 0);
    receipt->code = nb_error_set(&receipt->error, code, "%s", text);
    s->refused = true;
    return 0;
}

int nb_stage_refuse_damaged(struct nb_stage *s, const struct nb_error *why)
{
    struct nb_receipt *receipt = &s->change->receipt;
    nb_live_set_damaged(s->live, why);
    receipt->code = nb_live_check(s->live, &receipt->error);
    s->refused = true;
    return 0;
}

int nb_stage_refuse_unknown(struct nb_stage *s)
{
    const struct nb_buffer *id = &s->change->id;
    struct nb_receipt *receipt = &s->change->receipt;
    s->refused = true;
    receipt->code =
        nb_error_set(&receipt->error, NB_NOT_FOUND, "model '%s' has no document with the id '%.*s'",
                     s->live->name, (int)id->length, id->bytes);
    return 0;
}
