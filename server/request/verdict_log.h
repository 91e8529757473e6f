/* SPDX-License-Identifier: Apache-2.0
 *
 * One event in the log for each verdict, when [log] verdicts is set. It tells which document was
 * judged how and for whom, never what stands in it. For the thread that works on the request.
 */
#ifndef NB_SERVER_REQUEST_VERDICT_LOG_H
#define NB_SERVER_REQUEST_VERDICT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/string.h"

struct nb_request;

/* Texts of length 0 are left out. All are borrowed; they may have any bytes. */
struct nb_verdict_note {
    struct nb_string id;         /* as the request gives it */
    struct nb_string message_id; /* of a mail, with or without angle brackets */
    struct nb_string model, verdict;
    double probability;      /* of spam for mail software, else of the label that won */
    double score;            /* for mail software on the scale of its protocol, else the log-odds */
    struct nb_string action; /* what mail software is told */
    uint64_t nanoseconds;    /* that the verdict took */
};

/* Whether verdicts are logged; else nothing need be prepared. */
bool nb_verdict_log_wants(const struct nb_request *request);

void nb_verdict_log(const struct nb_request *request, const struct nb_verdict_note *note);

#endif
