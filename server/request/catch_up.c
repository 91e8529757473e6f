/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/catch_up.h"

#include <string.h>
#include <time.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/base/number.h"
#include "core/engine/number.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "server/request/work.h"

enum { LOOK_NANOSECONDS = 2000000 };

bool nb_takes_after(const struct nb_route *route)
{
    return strncmp(route->pattern, "/v1/", 4) == 0;
}

int nb_catch_up_look(const struct nb_request *request, uint64_t number, struct nb_error *error)
{
    const struct timespec pause = {.tv_nsec = LOOK_NANOSECONDS};
    struct nb_server *server = request->server;
    uint64_t patience = server->startup->nodes_patience * UINT64_C(1000000000);
    if (server->nodes == NULL)
        return nb_error_set(error, NB_CONFLICT, "this bayesd is none of several ([nodes])");
    uint64_t last;
    if (nb_engine_has_applied(server->engine, number, &last))
        return 0;
    if (nb_clock_monotonic() - request->started > patience || atomic_load(&server->is_cutting))
        return nb_error_set(error, NB_STOPPING,
                            "this node has come to the change %llu, and not to %llu yet: ask again "
                            "later, or another node",
                            (unsigned long long)last, (unsigned long long)number);
    (void)nanosleep(&pause, NULL); /* it may wake early */
    return NB_WAIT;
}

static int look(struct nb_request *request, struct nb_error *error)
{
    uint64_t number = 0;
    (void)nb_number_read_whole(request->after, &number); /* it was read before */
    return nb_catch_up_look(request, number, error);
}

int nb_catch_up(struct nb_request *request, struct nb_error *error)
{
    uint64_t number;
    if (request->after.bytes == NULL)
        return 0;
    if (!nb_number_read_whole(request->after, &number))
        return nb_error_set(error, NB_INVALID,
                            "query parameter '%s', or the header field %s, must be a whole number",
                            NB_QUERY_AFTER, NB_FIELD_AFTER);
    return nb_work_run(request, request->server->streams, look, error);
}
