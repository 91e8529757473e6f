/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server, on libmicrohttpd. It takes over connections that were accepted elsewhere; its
 * threads work on the requests. Started and stopped by the main thread.
 */
#ifndef NB_SERVER_HTTP_HTTP_H
#define NB_SERVER_HTTP_HTTP_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/base/error.h"
#include "core/base/system.h"
#include "server/http/address.h"
#include "server/http/tls.h"

struct MHD_Connection;
struct nb_configuration;
struct nb_http;
struct nb_http_call;
struct nb_server;

/* A connection of the HTTP server, and the phase of its request. The server's threads record each
 * phase as it begins; another thread watches the time (http/net/connection_guard.h) and may give
 * the connection up; after that the server does nothing more with it. The phase and its beginning
 * are one atomic word, so only one of the two threads can win. */
enum nb_phase {
    NB_PHASE_FIRST, /* the head of the first request is coming */
    NB_PHASE_IDLE,  /* between two requests, or in the head of the next */
    NB_PHASE_BODY,  /* the body is coming */
    NB_PHASE_WORK,  /* the daemon is at work, and reads nothing */
    NB_PHASE_REPLY, /* the reply is being sent */
    NB_PHASE_OVER   /* refused, given up or aborted */
};

/* 61 bits of nanoseconds are 73 years. */
enum { NB_PHASE_BITS = 3, NB_PHASE_MASK = 7 };

union nb_connection_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* The TLS handshake of a connection (http_tls.h). Only the server's thread that works on it uses
 * it. */
struct nb_shaking {
    struct nb_tls_socket socket;          /* the socket that the session reads and writes */
    struct MHD_Connection *connection;    /* the connection that owns it */
    bool is_watched;                      /* the socket is watched, once it had to wait */
    struct nb_connection *before, *after; /* its neighbours in the list of waiting connections */
};

struct nb_connection {
    int file; /* the server's from nb_http_take until it calls the owner's `closed` */
    union nb_connection_address address;
    struct nb_address from; /* `address` in another form; of the client, or of the last proxy */
    bool is_tls;
    socklen_t address_length;  /* at most the size of the union */
    _Atomic uint64_t state;    /* when the phase began, and which one it is */
    _Atomic uint64_t begun;    /* when the request began: nb_clock_monotonic */
    _Atomic uint64_t received; /* bytes of its body */
    atomic_uint given_up;      /* status with which the client was given up; 0: none */
    atomic_bool is_started;    /* a thread of the server has taken it up */
    /* With TLS, for the server's thread alone: */
    const struct nb_configuration *configuration; /* the one whose certificate is in use; held */
    struct nb_shaking shaking;
    bool is_known;     /* the client's certificate was looked at */
    char *certificate; /* the name in it, owned; NULL: none was shown, or not verified */
    bool is_kept; /* for the server's thread alone: the connection surely stays open after its last
                     reply */
    struct nb_http *http;      /* the server that holds it */
    struct nb_http_call *call; /* for the server's thread alone; NULL: no request is known yet */
    void *spare; /* for the server's thread alone: memory of the last request, for the next one;
                    owned, or NULL */
};

/* The address that libmicrohttpd gets as the client's. It copies all of it without reading it (its
 * own limit for each address is off), so its copy leads to the connection. */
struct nb_connection_name {
    union nb_connection_address address; /* the first member */
    struct nb_connection *held;
};

/* Return the parts of a state: the phase, and its beginning. */
static inline enum nb_phase nb_connection_phase(uint64_t state)
{
    return (enum nb_phase)(state & NB_PHASE_MASK);
}

static inline uint64_t nb_connection_since(uint64_t state) /* nb_clock_coarse */
{
    return state >> NB_PHASE_BITS;
}

/* Returns the state of a phase that begins now. */
static inline uint64_t nb_connection_state(enum nb_phase phase)
{
    return nb_clock_coarse() << NB_PHASE_BITS | (uint64_t)phase;
}

/* Initializes a connection, in the phase NB_PHASE_FIRST. */
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

/* Enters a phase if held->state still equals `state`. Returns false if another thread has given the
 * connection up. */
static inline bool nb_connection_enter_from(struct nb_connection *held, uint64_t state,
                                            enum nb_phase phase)
{
    return nb_connection_phase(state) != NB_PHASE_OVER &&
           atomic_compare_exchange_strong(&held->state, &state, nb_connection_state(phase));
}

/* Enters a phase from the current one. Returns as nb_connection_enter_from. */
static inline bool nb_connection_enter(struct nb_connection *held, enum nb_phase phase)
{
    return nb_connection_enter_from(held, atomic_load(&held->state), phase);
}

/* The owner of the connections; called on any of the server's threads. */
struct nb_http_owner {
    /* A connection is about to be closed; nobody touches it after this call. */
    void (*closed)(void *user, struct nb_connection *held);
    /* Takes the socket of a closed connection whose client may still be sending
     * (http/net/connections.h). The owner must close it. */
    void (*linger)(void *user, int file);
    void *user;
};

/* Starts `threads` threads. `server` is borrowed until nb_http_stop. Returns 0, NB_NO_MEMORY or
 * NB_IO. */
int nb_http_start(struct nb_server *server, unsigned threads, const struct nb_http_owner *owner,
                  struct nb_http **http, struct nb_error *error);

/* Takes over a connection from which no byte was read; any one thread. The connection is borrowed
 * until the server calls the owner's `closed`. When the library has no memory for it, the library
 * closes the file silently, and the connection never becomes is_started. */
void nb_http_take(struct nb_http *http, struct nb_connection *held);

/* Closes all open connections and ends the threads; *http may be NULL. No request may be
 * suspended, and nb_http_take must not be called any more (see daemon.c). */
void nb_http_stop(struct nb_http **http);

#endif
