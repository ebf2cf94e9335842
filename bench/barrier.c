/* SPDX-License-Identifier: Apache-2.0
 *
 * barrier - plays all hosts of a job but the leader, in one process: meets it, gets ready, waits
 * for the start, says at once that its rank has ended well, waits for the verdict.
 *
 * usage: barrier BASE ADDRESS
 *
 * BASE is the leader's base folder. Prints the moment (CLOCK_MONOTONIC, ns) of the last start and
 * the number of hosts. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "core/agree.h"
#include "core/testimony.h"
#include "input/inputs.h"
#include "run/link.h"
#include "run/peerkey.h"

extern char **environ;

#define AGAIN_MS 5 /* the leader may not listen yet */

struct guest {
    const char *host;
    struct tls_context *tls;
    uv_timer_t again;
    bool open;
};

static struct sockaddr_in address;
static struct inputs in;
static struct peerkey key;
static uv_loop_t loop;
static cJSON *agreed;
static size_t started, ended, hosts;

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void say(struct link *l, struct wire_message *m)
{
    link_send(l, m);
    wire_message_done(m);
}

static void on_open(struct link *l)
{
    struct guest *g = link_data(l);

    g->open = true;
    say(l, &(struct wire_message){.kind = WIRE_HELLO,
                                  .version = WIRE_VERSION,
                                  .ranks = 1,
                                  .release = mem_dup(PACKAGE_VERSION),
                                  .job = mem_dup(in.job->training_job ? in.job->training_job : ""),
                                  .host = mem_dup(g->host),
                                  .body = cJSON_Duplicate(agreed, true)});
}

static void report(struct link *l)
{
    const struct guest *g = link_data(l);
    const struct memory_facts memory = {0};
    const struct outcome outcome = {.host = g->host, .started = true, .ended = true};

    say(l, &(struct wire_message){.kind = WIRE_REPORT,
                                  .body = testimony_json(&outcome, 1, &memory, in.redact)});
}

static void on_message(struct link *l, struct wire_message *m)
{
    switch (m->kind) {
    case WIRE_WELCOME:
        say(l, &(struct wire_message){.kind = WIRE_READY});
        break;
    case WIRE_START:
        if (++started == hosts)
            printf("%" PRId64 " %zu\n", now_ns(), hosts);
        (void)fflush(stdout);
        report(l);
        break;
    case WIRE_PING:
        say(l,
            &(struct wire_message){.kind = WIRE_PONG, .time = m->time, .mine = now_ns() / 1000000});
        break;
    case WIRE_VERDICT:
        ended++;
        break;
    default:
        break;
    }
    wire_message_done(m);
}

static void meet(struct guest *g);

static void on_again(uv_timer_t *timer)
{
    meet(timer->data);
}

static void on_closed(struct link *l, int why, enum tls_fault fault, const char *text)
{
    struct guest *g = link_data(l);

    (void)fault;
    (void)text;
    if (!g->open && why == -ECONNREFUSED) {
        (void)uv_timer_start(&g->again, on_again, AGAIN_MS, 0);
    } else if (!started) {
        (void)fprintf(stderr, "barrier: %s: %s\n", g->host, uv_strerror(why));
        exit(1);
    }
}

static void meet(struct guest *g)
{
    static const struct link_calls calls = {on_open, on_message, on_closed};
    int why;

    if (!link_connect(&loop, g->tls, (struct sockaddr *)&address, &calls, g, &why))
        exit(1);
}

static void add(const char *host)
{
    struct guest *g = mem_zero(sizeof(*g));

    g->host = host;
    g->tls = tls_context_new(&key, host);
    if (!g->tls)
        exit(1);
    (void)uv_timer_init(&loop, &g->again);
    g->again.data = g;
    meet(g);
}

int main(int argc, char **argv)
{
    struct inputs_options options = {.base = argc > 1 ? argv[1] : NULL};
    struct err err = ERR_INIT;

    for (char **variable = environ; *variable; variable++)
        strv_add(&options.container, *variable);
    inputs_read(&options, &in);
    inputs_plan(&options, &in);
    if (argc != 3 || inet_pton(AF_INET, argv[2], &address.sin_addr) != 1 || uv_loop_init(&loop) ||
        peerkey_get(&in.settings, in.job, &key, &err) < 0) {
        (void)fprintf(stderr, "usage: barrier BASE ADDRESS %s\n", err.text);
        return 1;
    }
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)in.settings.peer_port);
    agreed = agree_make(in.job, in.plan);
    hosts = in.job->hosts.n - 1;
    for (size_t i = 1; i < in.job->hosts.n; i++)
        add(in.job->hosts.v[i]);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    return started == hosts && ended == hosts ? 0 : 1;
}
