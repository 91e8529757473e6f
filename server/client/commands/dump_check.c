/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/commands/dump_check.h"

enum { LINE_MOST = 256 * 1024 * 1024 };

int nb_dump_check_init(struct nb_dump_check *check)
{
    *check = (struct nb_dump_check){.reader = NULL};
    nb_splitter_init(&check->lines, LINE_MOST);
    return nb_json_dump_reader_new(&check->reader);
}

void nb_dump_check_deinit(struct nb_dump_check *check)
{
    nb_json_dump_reader_free(&check->reader);
    nb_splitter_deinit(&check->lines);
}

static int take_line(struct nb_dump_check *check, const struct nb_ndjson_line *line)
{
    struct nb_json_record record;
    if (line->is_too_long)
        return nb_error_set(&check->error, NB_TOO_LARGE,
                            "line %ju of the dump is longer than %d bytes", (uintmax_t)line->number,
                            LINE_MOST);
    return nb_json_dump_read(check->reader, line->number, line->text, &record, &check->error);
}

int nb_dump_check_add(struct nb_dump_check *check, const char *bytes, size_t length)
{
    struct nb_string input = {bytes, length};
    struct nb_ndjson_line line;
    int rc = check->error.code;
    while (rc == 0 && (rc = nb_splitter_next(&check->lines, &input, &line)) == 1)
        rc = take_line(check, &line);
    if (rc == NB_NO_MEMORY && check->error.code == 0)
        (void)nb_error_no_memory(&check->error);
    return check->error.code;
}

int nb_dump_check_end(struct nb_dump_check *check)
{
    struct nb_ndjson_line line;
    if (check->error.code == 0 && nb_splitter_last(&check->lines, &line) == 1)
        (void)take_line(check, &line);
    if (check->error.code == 0)
        (void)nb_json_dump_finish(check->reader, &check->error);
    return check->error.code;
}
