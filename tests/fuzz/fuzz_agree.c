/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of two things that hosts say of their job, and an object as the hyperparameters of one. */
#include "config.h"

#include "fuzz.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/agree.h"
#include "core/job.h"
#include "core/plan.h"
#include "core/wire.h"

#include <stdbool.h>
#include <string.h>

#define SENTENCE_MAX 1024

/* True: there is a difference. */
static bool differ(const cJSON *one, const cJSON *other)
{
    auto_free char *text = agree_difference(one, "algo-1", other, "algo-2");

    MUST(!text || (*text && strlen(text) < SENTENCE_MAX));
    MUST(!text || utf8_check(text, strlen(text)) == strlen(text));
    return text != NULL;
}

/* What one host says fits a message, and another with the same files says the same. */
static void try_job(const cJSON *hyperparameters)
{
    static const char resources[] = "{\"current_host\": \"a\", \"hosts\": [\"a\", \"b\"]}";
    struct tree tree = {.base = mem_dup("/opt/ml"),
                        .hyperparameters = mem_check(cJSON_Duplicate(hyperparameters, true)),
                        .resourceconfig = json_parse(resources, sizeof(resources) - 1, NULL)};
    struct facts facts = {.num_cpus = 4};
    struct findings findings = {0};
    struct strv container = {0};
    struct job *job = job_new(&tree, &container, &facts, NULL, &findings);
    struct plan *plan = plan_new();
    auto_json cJSON *agreed = agree_make(job, plan);
    auto_buf struct buf text = {0};
    auto_json cJSON *heard = NULL;

    json_write(&text, agreed);
    MUST(text.len < WIRE_FRAME_MAX);
    heard = json_parse(text.data, text.len, NULL);
    MUST(!differ(agreed, heard) && !differ(heard, agreed));
    plan_free(plan);
    job_free(job);
    tree_done(&tree);
    findings_done(&findings);
    strv_done(&container);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_json cJSON *tree = json_parse_file_text((const char *)data, size, NULL);
    const cJSON *one = cJSON_IsArray(tree) ? tree->child : tree;
    const cJSON *other = cJSON_IsArray(tree) && one ? one->next : tree;

    MUST(differ(one, other) == differ(other, one));
    if (cJSON_IsObject(tree))
        try_job(tree);
    return 0;
}
