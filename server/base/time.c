/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/time.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "core/base/string.h"
#include "core/base/system.h"
#include "server/base/emit.h"

void nb_json_format_time(int64_t milliseconds, char text[NB_JSON_TIME_BYTES])
{
    int64_t rest = milliseconds % 1000;
    if (rest < 0)
        rest += 1000; /* before 1970: the second began earlier */
    time_t seconds = (time_t)((milliseconds - rest) / 1000);
    struct tm t;
    text[0] = '\0';
    if (gmtime_r(&seconds, &t) != NULL)
        snprintf(text, NB_JSON_TIME_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900,
                 t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, (int)rest);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
    struct nb_string rest;
    bool failed;
};

static bool skip(struct reader *r, const char *either)
{
    if (r->rest.length == 0 || strchr(either, r->rest.bytes[0]) == NULL || r->rest.bytes[0] == 0)
        return false;
    r->rest = nb_string_from(r->rest, 1);
    return true;
}

static void expect(struct reader *r, const char *either)
{
    r->failed = !skip(r, either) || r->failed;
}

static int number(struct reader *r, size_t digits, int least, int most)
{
    int value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (r->rest.length == 0 || !nb_ascii_is_digit(r->rest.bytes[0])) {
            r->failed = true;
            return least;
        }
        value = value * 10 + (r->rest.bytes[0] - '0');
        r->rest = nb_string_from(r->rest, 1);
    }
    r->failed = r->failed || value < least || value > most;
    return value;
}

/* Reads a fraction of a second. Returns milliseconds; further digits are ignored. */
static int fraction(struct reader *r)
{
    int value = 0;
    int digits = 0;
    if (!skip(r, "."))
        return 0;
    for (; r->rest.length > 0 && nb_ascii_is_digit(r->rest.bytes[0]); digits++) {
        if (digits < 3)
            value = value * 10 + (r->rest.bytes[0] - '0');
        r->rest = nb_string_from(r->rest, 1);
    }
    r->failed = r->failed || digits == 0;
    for (; digits < 3; digits++)
        value *= 10;
    return value;
}

/* Reads the offset. Returns the minutes that the time is ahead of UTC. */
static int offset(struct reader *r)
{
    if (skip(r, "Zz"))
        return 0;
    int sign = r->rest.length > 0 && r->rest.bytes[0] == '-' ? -1 : 1;
    expect(r, "+-");
    int hours = number(r, 2, 0, 23);
    expect(r, ":");
    return sign * (hours * 60 + number(r, 2, 0, 59));
}

/* Returns the days from 1970 to a day of the Gregorian calendar (Hinnant, days_from_civil). */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = y / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    assert(month >= 1 && month <= 12);
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && is_leap);
}

int nb_json_read_time(struct nb_string text, const char *member, int64_t *milliseconds,
                      struct nb_error *error)
{
    struct reader r = {.rest = text};
    int year = number(&r, 4, 1970, 9999);
    expect(&r, "-");
    int month = number(&r, 2, 1, 12);
    expect(&r, "-");
    int day = number(&r, 2, 1, r.failed ? 31 : days_in(year, month));
    int64_t seconds = r.failed ? 0 : days_of(year, month, day) * 86400;
    int rest = 0;
    if (!r.failed && r.rest.length > 0) {
        expect(&r, "Tt ");
        seconds += (int64_t)number(&r, 2, 0, 23) * 3600;
        expect(&r, ":");
        seconds += (int64_t)number(&r, 2, 0, 59) * 60;
        expect(&r, ":");
        seconds += number(&r, 2, 0, 60);
        rest = fraction(&r);
        seconds -= (int64_t)offset(&r) * 60;
    }
    if (r.failed || r.rest.length > 0 || seconds < 0)
        return nb_error_about(error,
                              nb_error_set(error, NB_INVALID,
                                           "\"%s\" must be a moment from 1970 on, as "
                                           "2026-05-01T12:00:00Z, or a day, as 2026-05-01",
                                           member),
                              NULL, member);
    *milliseconds = seconds * 1000 + rest;
    return 0;
}

void nb_emit_member_time(struct nb_emitter *e, const char *key, int64_t milliseconds)
{
    char text[NB_JSON_TIME_BYTES];
    nb_json_format_time(milliseconds, text);
    nb_emit_member_text(e, key, text);
}

static void emit_field(struct nb_emitter *e, const struct nb_log_field *field)
{
    nb_emit_key(e, field->name);
    switch (field->kind) {
    case NB_LOG_NUMBER:
        nb_emit_double(e, field->number);
        break;
    case NB_LOG_COUNT:
        nb_emit_u64(e, field->count);
        break;
    case NB_LOG_TEXT:
    default:
        nb_emit_string(e, field->text);
        break;
    }
}

int nb_json_log_line(struct nb_buffer *out, const char *level, const char *what,
                     const struct nb_log_field *fields, size_t count)
{
    struct nb_emitter e = nb_emit_begin(out);
    char time[NB_JSON_TIME_BYTES];
    nb_json_format_time((int64_t)nb_clock_now(), time);
    e.is_ascii = true;
    nb_emit_open(&e, '{');
    nb_emit_member_text(&e, "time", time);
    nb_emit_member_text(&e, "level", level);
    nb_emit_member_text(&e, "message", what);
    for (size_t i = 0; i < count; i++)
        emit_field(&e, &fields[i]);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}
