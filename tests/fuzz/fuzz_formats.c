/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as RTF, enriched text, iCalendar, flowed text, and as a body in base64 and
 * quoted-printable: text comes out, no more of it than each decoder says.
 */
#include <stdint.h>

#include "tokenizer/text_formats.h"
#include "tokenizer/transfer_encoding.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int rc, struct nb_buffer *out, size_t most)
{
    if (rc != 0 || out->length > most)
        __builtin_trap();
    nb_buffer_deinit(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct nb_string text = {(const char *)data, size};
    struct nb_bag_work work = NB_WORK_UNBOUNDED;
    struct nb_charset_state charset = {.work = &work};
    struct nb_buffer out = {0};
    check(nb_rtf_to_text(&charset, text, &out), &out, 3 * size);
    check(nb_enriched_to_text(text, &out), &out, size);
    check(nb_calendar_to_text(text, &out), &out, size);
    check(nb_flowed_to_text(text, &out), &out, size);
    /* Lines that are text are set off from those that are not by a line break. */
    check(nb_transfer_base64_body(text, &out), &out, 2 * size + 2);
    check(nb_transfer_base64(text, &out), &out, size);
    check(nb_transfer_quoted_printable(text, &out), &out, size);
    nb_charset_state_deinit(&charset);
    return 0;
}
