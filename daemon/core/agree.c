/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/agree.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "core/job.h"
#include "core/plan.h"

#define HYPERPARAMETERS "hyperparameters.json"
#define RESOURCES       "resourceconfig.json"
#define SHOWN_MAX       200 /* bytes of a value in a sentence */
#define NAME_MAX_BYTES  300

/* A checksum, no cryptography: who has the job's key may see it, and no value. */
static uint64_t fnv1a(const char *text, size_t n)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return hash;
}

static char *digest_of(const cJSON *node)
{
    auto_buf struct buf text = {0};

    json_write(&text, node);
    return mem_printf("#%016" PRIx64, fnv1a(buf_text(&text), text.len));
}

static void add_digest(cJSON *agreed, const char *name, const cJSON *node)
{
    auto_free char *digest = digest_of(node);

    json_add_string(agreed, name, digest);
}

/* One member for each; too many share one. */
static void add_hyperparameters(cJSON *agreed, const cJSON *object)
{
    const cJSON *node;

    if (cJSON_GetArraySize(object) > AGREE_MAX / 2) {
        add_digest(agreed, HYPERPARAMETERS, object);
        return;
    }
    cJSON_ArrayForEach (node, object) {
        auto_free char *name = mem_printf(HYPERPARAMETERS ": /%s", node->string);

        add_digest(agreed, name, node);
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_set(cJSON *agreed, const char *name, const struct strv *list)
{
    auto_strv struct strv sorted = {0};
    auto_free char *text = NULL;

    strv_add_all(&sorted, list);
    if (sorted.n)
        qsort(sorted.v, sorted.n, sizeof(*sorted.v), by_text);
    text = strv_join(&sorted, ", ");
    json_add_string(agreed, name, text);
}

/* The hosts that have ranks, in the order of the ranks: of a group that others leave out, and of
 * groups that are clusters of their own, each host knows its own only. */
static void add_order(cJSON *agreed, const struct job *job)
{
    auto_free char *order = strv_join(job->dist_hosts.n ? &job->dist_hosts : &job->hosts, ", ");

    if (strcmp(job_meeting_host(job), job->leader) != 0)
        return;
    json_add_string(agreed, RESOURCES ": the leader", job->leader);
    json_add_string(agreed, RESOURCES ": the order of the hosts", order);
}

cJSON *agree_make(const struct job *job, const struct plan *plan)
{
    cJSON *agreed = mem_check(cJSON_CreateObject());

    add_set(agreed, RESOURCES ": /hosts", &job->hosts);
    if (plan->role != ROLE_OUTSIDE) {
        add_order(agreed, job);
        json_add_string(agreed, "the launcher", plan->launcher);
    }
    json_add_string(agreed, "the program", job->program ? job->program : "");
    json_add_string(agreed, "SAGEMAKER_TRAINING_MODULE",
                    job->framework_module ? job->framework_module : "");
    add_hyperparameters(agreed, job->framework);
    add_hyperparameters(agreed, job->hyperparameters);
    return agreed;
}

/* Values that are short and no secret are shown, digests are not. */
static char *difference(const char *name, const char *ours, const char *leader, const char *theirs,
                        const char *peer)
{
    if (ours && theirs && (*ours == '#' || *theirs == '#'))
        return mem_printf("%.*s is another on %s than on %s", NAME_MAX_BYTES, name, peer, leader);
    if (!ours || !theirs)
        return mem_printf("%.*s: %s has it, %s has not", NAME_MAX_BYTES, name, ours ? leader : peer,
                          ours ? peer : leader);
    return mem_printf("%.*s: \"%.*s\" on %s, \"%.*s\" on %s", NAME_MAX_BYTES, name, SHOWN_MAX,
                      theirs, peer, SHOWN_MAX, ours, leader);
}

/* A host outside the distribution says nothing of it. */
static bool may_be_absent(const char *name)
{
    return strncmp(name, RESOURCES ": the ", strlen(RESOURCES ": the ")) == 0 ||
           strcmp(name, "the launcher") == 0;
}

/* Of the members of `a`; `swapped`: they are the peer's, and only what we have not is asked. */
static char *compare(const cJSON *a, const cJSON *b, bool swapped, const char *leader,
                     const char *peer)
{
    const cJSON *node;
    int left = 2 * AGREE_MAX;

    cJSON_ArrayForEach (node, a) {
        const char *one = json_string(node);
        const char *other = json_string(json_get(b, node->string));

        if (!one || left-- == 0 || (other && (swapped || strcmp(one, other) == 0)))
            continue;
        if (!other && may_be_absent(node->string))
            continue;
        return difference(node->string, swapped ? other : one, leader, swapped ? one : other, peer);
    }
    return NULL;
}

char *agree_difference(const cJSON *leaders, const char *leader, const cJSON *peers,
                       const char *peer)
{
    char *text = compare(leaders, peers, false, leader, peer);

    return text ? text : compare(peers, leaders, true, leader, peer);
}
