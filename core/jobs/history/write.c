/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/history/write.h"

#include "core/engine/writer.h"
#include "core/writer/remember/remember.h"

static int flush(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    (void)argument;
    return nb_remember_flush(engine, true, error);
}

int nb_engine_history_write(struct nb_engine *engine, struct nb_error *error)
{
    return nb_remember_waits(engine) ? nb_writer_run(engine, flush, NULL, error) : 0;
}
