/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection that the HTTP server holds, and how far its request has come. The server's threads
 * write down each phase as it begins; another thread watches the time (net/connection_guard.h) and
 * may give the connection up: then nothing of the server's may follow. The phase and its beginning
 * are one atomic word, so one of the two is first.
 */
#ifndef NB_SERVER_HTTP_CONNECTION_H
#define NB_SERVER_HTTP_CONNECTION_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/base/clock.h"
#include "server/access/address.h"
#include "server/tls/tls.h"

struct MHD_Connection;
struct nb_http;
struct nb_configuration;
struct nb_http_call;

enum nb_phase {
    NB_PHASE_FIRST, /* the head of the first request is coming */
    NB_PHASE_IDLE,  /* between two requests, or in the head of the next */
    NB_PHASE_BODY,  /* the body is coming */
    NB_PHASE_WORK,  /* the daemon is at work, and reads nothing */
    NB_PHASE_REPLY, /* the reply is being sent */
    NB_PHASE_OVER   /* refused, given up or broken off */
};

/* 61 bits of nanoseconds are 73 years. */
enum { NB_PHASE_BITS = 3, NB_PHASE_MASK = 7 };

union nb_connection_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* The TLS handshake of a connection (handshakes.h): for the server's thread alone while it works on
 * it. */
struct nb_shaking {
    struct nb_tls_socket socket;          /* what the session reads and writes */
    struct MHD_Connection *connection;    /* whose it is */
    bool is_watched;                      /* the socket, once it had to wait */
    struct nb_connection *before, *after; /* while it waits */
};

struct nb_connection {
    int file; /* the server's from nb_http_take until the owner hears that it is closed */
    union nb_connection_address address;
    struct nb_address from; /* the same: of the client, or of the last machine on the way */
    bool is_tls;
    socklen_t address_length;  /* at most the union's */
    _Atomic uint64_t state;    /* when the phase began, and which one it is */
    _Atomic uint64_t begun;    /* the request: nb_clock_monotonic */
    _Atomic uint64_t received; /* bytes of its body */
    atomic_uint given_up;      /* status that the client was given up with; 0: none */
    atomic_bool is_started;    /* one of the server's threads has it */
    /* With TLS, for the server's thread alone: */
    const struct nb_configuration *configuration; /* whose certificate it uses; held */
    struct nb_shaking shaking;
    bool is_known;     /* the client's certificate was looked at */
    char *certificate; /* the name in it, owned; NULL: none was shown, or not verified */
    bool is_kept; /* for the server's thread alone: after its last reply it certainly goes on */
    struct nb_http *http;      /* who holds it */
    struct nb_http_call *call; /* for the server's thread alone; NULL: no request is known yet */
    void *spare; /* the same: memory of the last request, for the next one; owned, or NULL */
};

/* What libmicrohttpd is given as the client's address. It copies all of it and looks at nothing
 * (there is no limit of its own for each address), so its copy leads to the connection. */
struct nb_connection_name {
    union nb_connection_address address; /* the first member */
    struct nb_connection *held;
};

/* What a state says. */
static inline enum nb_phase nb_connection_phase(uint64_t state)
{
    return (enum nb_phase)(state & NB_PHASE_MASK);
}

static inline uint64_t nb_connection_since(uint64_t state) /* nb_clock_coarse */
{
    return state >> NB_PHASE_BITS;
}

/* The state of a phase that begins now. */
static inline uint64_t nb_connection_state(enum nb_phase phase)
{
    return nb_clock_coarse() << NB_PHASE_BITS | (uint64_t)phase;
}

/* Begins in the phase NB_PHASE_FIRST. */
static inline void nb_connection_init(struct nb_connection *held, int file, bool is_tls,
                                      const union nb_connection_address *address, socklen_t length)
{
    *held = (struct nb_connection){.file = file,
                                   .is_tls = is_tls,
                                   .address = *address,
                                   .address_length = length,
                                   .from = nb_address_of(&address->any)};
    atomic_init(&held->state, nb_connection_state(NB_PHASE_FIRST));
}

/* Enters a phase if the state is still `state`, as read from held->state. False: the connection
 * was given up, and this is not the thread that did it. */
static inline bool nb_connection_enter_from(struct nb_connection *held, uint64_t state,
                                            enum nb_phase phase)
{
    return nb_connection_phase(state) != NB_PHASE_OVER &&
           atomic_compare_exchange_strong(&held->state, &state, nb_connection_state(phase));
}

/* The same from whatever phase it is in. */
static inline bool nb_connection_enter(struct nb_connection *held, enum nb_phase phase)
{
    return nb_connection_enter_from(held, atomic_load(&held->state), phase);
}

/* Whose the connections are; called on any of the server's threads. */
struct nb_http_owner {
    /* A connection is about to be closed; nobody touches it after this call. */
    void (*closed)(void *user, struct nb_connection *held);
    /* The socket, which is given away, of a client that may still be sending to a closed
     * connection (linger.h). */
    void (*linger)(void *user, int file);
    void *user;
};

#endif
