/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/rate.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/number.h"

enum { RATE_MOST = 1000000000 };

/* The seconds of a unit of time; 0 for a text that is not a unit. */
static double seconds_of(const char *unit)
{
    static const struct {
        const char *name;
        double seconds;
    } UNITS[] = {{"s", 1}, {"second", 1}, {"m", 60}, {"minute", 60}, {"h", 3600}, {"hour", 3600}};
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++) {
        if (strcmp(unit, UNITS[i].name) == 0)
            return UNITS[i].seconds;
    }
    return 0;
}

int nb_rate_read(const char *text, const char *option, struct nb_rate *rate, struct nb_error *error)
{
    size_t digits = strcspn(text, "/");
    bool has_unit = text[digits] == '/';
    double seconds = has_unit ? seconds_of(text + digits + 1) : 1;
    uint64_t number;
    bool is_number = nb_number_read_whole((struct nb_string){text, digits}, &number);
    if (!is_number || number > RATE_MOST || seconds == 0 || (!has_unit && number != 0))
        return nb_error_set(error, NB_INVALID,
                            "%s: '%.60s' is no rate; write a number and a unit, such as 10/second "
                            "or 600/minute, or 0 for no limit",
                            option, text);
    *rate = (struct nb_rate){(double)number / seconds, (double)number};
    return 0;
}
