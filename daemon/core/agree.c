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
#include "base/utf8.h"
#include "core/job.h"
#include "core/plan.h"

#define HYPERPARAMETERS "hyperparameters.json"
#define RESOURCES       "resourceconfig.json"
#define SHOWN_MAX       200        /* bytes of a value in a sentence */
#define NAMED_MAX       300        /* bytes of a name in one */
#define TEXT_MAX        512        /* bytes of a value that is sent whole */
#define NAMES_MAX       (32 << 10) /* bytes of all names that are sent */

#define THE_LEADER     RESOURCES ": the leader"
#define THE_ORDER      RESOURCES ": the order of the hosts"
#define THE_LAUNCHER   "the launcher"
#define TORCH_LAUNCHER "torch.launcher"

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

/* Whole as long as it may be shown: a greeting is one frame. */
static void add_text(cJSON *agreed, const char *name, const char *text)
{
    auto_json cJSON *node = NULL;

    if (!text || strlen(text) <= TEXT_MAX) {
        json_add_string(agreed, name, text ? text : "");
        return;
    }
    node = mem_check(cJSON_CreateString(text));
    add_digest(agreed, name, node);
}

static bool is_much(const cJSON *object)
{
    const cJSON *node;
    size_t bytes = 0;

    cJSON_ArrayForEach (node, object)
        bytes += strlen(node->string);
    return bytes > NAMES_MAX || cJSON_GetArraySize(object) > AGREE_MAX / 2;
}

/* One member for each; too many share one, `all`. */
static void add_hyperparameters(cJSON *agreed, const char *all, const cJSON *object)
{
    const cJSON *node;

    if (is_much(object)) {
        add_digest(agreed, all, object);
        return;
    }
    cJSON_ArrayForEach (node, object) {
        auto_free char *name = mem_printf(HYPERPARAMETERS ": /%s", node->string);

        add_digest(agreed, name, node);
    }
}

static void add_hosts(cJSON *agreed, const struct job *job)
{
    auto_strv struct strv sorted = {0};
    auto_free char *text = NULL;

    job_sorted_hosts(job, &sorted);
    text = strv_join(&sorted, ", ");
    add_text(agreed, RESOURCES ": /hosts", text);
}

/* The hosts that have ranks, in the order of the ranks: of a group that others leave out, and of
 * groups that are clusters of their own, each host knows its own only. */
static void add_order(cJSON *agreed, const struct job *job)
{
    auto_free char *order = strv_join(job->dist_hosts.n ? &job->dist_hosts : &job->hosts, ", ");

    if (strcmp(job_meeting_host(job), job->leader) != 0)
        return;
    add_text(agreed, THE_LEADER, job->leader);
    add_text(agreed, THE_ORDER, order);
}

/* Ranks that the daemons start do not meet those of a torchrun. */
static void add_launcher(cJSON *agreed, const struct plan *plan)
{
    add_text(agreed, THE_LAUNCHER, plan->launcher);
    if (plan->launcher && strcmp(plan->launcher, "torch") == 0)
        add_text(agreed, TORCH_LAUNCHER, plan->has_launch ? "exec" : "native");
}

cJSON *agree_make(const struct job *job, const struct plan *plan)
{
    cJSON *agreed = mem_check(cJSON_CreateObject());

    add_hosts(agreed, job);
    if (plan->role != ROLE_OUTSIDE) {
        add_order(agreed, job);
        add_launcher(agreed, plan);
    }
    add_text(agreed, "the program", job->program);
    add_text(agreed, "SAGEMAKER_TRAINING_MODULE", job->framework_module);
    add_hyperparameters(agreed, HYPERPARAMETERS ": /sagemaker_*", job->framework);
    add_hyperparameters(agreed, HYPERPARAMETERS, job->hyperparameters);
    return agreed;
}

static int clipped(const char *text, size_t max)
{
    return (int)utf8_clip(text, strlen(text), max);
}

/* Values that are short and no secret are shown, digests are not. */
static char *difference(const char *name, const char *ours, const char *leader, const char *theirs,
                        const char *peer)
{
    int n = clipped(name, NAMED_MAX);

    if (ours && theirs && (*ours == '#' || *theirs == '#'))
        return mem_printf("%.*s is another on %s than on %s", n, name, peer, leader);
    if (!ours || !theirs)
        return mem_printf("%.*s: %s has it, %s has not", n, name, ours ? leader : peer,
                          ours ? peer : leader);
    return mem_printf("%.*s: \"%.*s\" on %s, \"%.*s\" on %s", n, name, clipped(theirs, SHOWN_MAX),
                      theirs, peer, clipped(ours, SHOWN_MAX), ours, leader);
}

/* A host outside the distribution, or of a cluster of its own, says nothing of these. */
static bool may_be_absent(const char *name)
{
    static const char *const names[] = {THE_LEADER, THE_ORDER, THE_LAUNCHER, TORCH_LAUNCHER};

    for (size_t i = 0; i < LENGTH(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Of the texts of `a`; `swapped`: they are the peer's, and only what we have not is asked. */
static char *compare(const cJSON *a, const cJSON *b, bool swapped, const char *leader,
                     const char *peer)
{
    const cJSON *node;

    cJSON_ArrayForEach (node, a) {
        const char *one = json_string(node);
        const char *other = one ? json_string(json_get(b, node->string)) : NULL;

        if (!one || (other ? swapped || strcmp(one, other) == 0 : may_be_absent(node->string)))
            continue;
        return difference(node->string, swapped ? other : one, leader, swapped ? one : other, peer);
    }
    return NULL;
}

/* Each member is looked up among all of the other tree: both have a bound. */
static bool is_readable(const cJSON *tree)
{
    return cJSON_IsObject(tree) && cJSON_GetArraySize(tree) <= 2 * AGREE_MAX;
}

char *agree_difference(const cJSON *leaders, const char *leader, const cJSON *peers,
                       const char *peer)
{
    char *text;

    if (!is_readable(leaders) || !is_readable(peers))
        return mem_printf("what %s says of the job cannot be read",
                          is_readable(leaders) ? peer : leader);
    text = compare(leaders, peers, false, leader, peer);
    return text ? text : compare(peers, leaders, true, leader, peer);
}
