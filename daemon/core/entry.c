/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/entry.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/names.h"

#define PROGRAMS_SHOWN 10

static bool ends(const char *text, const char *with)
{
    size_t n = strlen(text);
    size_t m = strlen(with);

    return n >= m && strcmp(text + n - m, with) == 0;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

enum entry_kind entry_classify(const char *program, const struct strv *code_files)
{
    if (!program)
        return ENTRY_NONE;
    if (starts(program, "-m "))
        return ENTRY_MODULE;
    if (ends(program, ".sh"))
        return ENTRY_COMMAND;
    if (strv_has(code_files, "setup.py"))
        return ENTRY_PACKAGE;
    return ends(program, ".py") ? ENTRY_SCRIPT : ENTRY_COMMAND;
}

char *entry_module_name(const char *program)
{
    char *name;
    size_t n;

    if (starts(program, "-m "))
        return mem_dup(program + 3 + strspn(program + 3, " "));
    while (starts(program, "./"))
        program += 2;
    n = strlen(program) - (ends(program, ".py") ? 3 : 0);
    name = mem_dup_n(program, n);
    for (char *slash = strchr(name, '/'); slash; slash = strchr(slash, '/'))
        *slash = '.';
    return name;
}

static const char *last_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool is_there(const char *path, job_lister list)
{
    auto_free char *parent = path_parent(path);
    auto_strv struct strv names = {0};

    return !list(parent, &names) && strv_has(&names, last_of(path));
}

/* Is the answer of a job_lister that of a folder which is there but cannot be looked into? */
static bool is_closed(int rc)
{
    return rc && rc != -ENOENT && rc != -ENOTDIR;
}

static void closed_folder(const char *folder, int rc, struct findings *findings)
{
    findings_fatal(findings, BLAME_CONFIG, "%s: the folder cannot be read: %s", folder,
                   strerror(-rc));
}

/* Code that is fetched from somewhere: a folder can be looked into, an archive cannot. A path that
 * is not there is a fault, unless the facts are those of some other machine. */
static void look_at_submit_dir(struct job *job, job_lister list, struct findings *findings)
{
    bool remote = starts(job->submit_dir, "s3://");
    int rc = remote ? 0 : list(job->submit_dir, &job->code_files);

    job->code_unknown = remote || rc;
    if (is_closed(rc))
        closed_folder(job->submit_dir, rc, findings);
    else if (rc && !job->facts.given && !is_there(job->submit_dir, list))
        findings_fatal(findings, BLAME_CONFIG,
                       "the code cannot be found: %s is empty, and there is no %s "
                       "(hyperparameters.json: /sagemaker_submit_directory, or the image's "
                       "SAGEMAKER_SUBMIT_DIRECTORY)",
                       job->code_dir, job->submit_dir);
}

/* The image's own folder runs as it lies there (S-37); an archive there is fetched like any. */
static void settle_in_place(struct job *job, job_lister list, struct findings *findings)
{
    int rc = list(job->submit_dir, &job->code_files);

    if (!rc)
        return;
    job->code_unknown = is_closed(rc);
    if (job->code_unknown) {
        closed_folder(job->submit_dir, rc, findings);
        return;
    }
    if (is_there(job->submit_dir, list)) {
        job->in_place = false;
        cleanup_free(&job->code_dir);
        job->code_dir = job_path(job, "code");
        return;
    }
    job->code_unknown = true;
    if (!job->facts.given)
        findings_fatal(findings, BLAME_CONFIG,
                       "SAGEMAKER_SUBMIT_DIRECTORY: there is no %s with the code in it",
                       job->submit_dir);
}

static bool same_folder(const char *a, const char *b)
{
    size_t n = strlen(b);

    return strncmp(a, b, n) == 0 && a[n + strspn(a + n, "/")] == '\0';
}

/* Top level of what will lie in the code folder when the program starts. */
static void find_code(struct job *job, job_lister list, struct findings *findings)
{
    int rc;

    if (job->in_place)
        settle_in_place(job, list, findings);
    if (job->in_place)
        return;
    rc = list(job->code_dir, &job->code_files);
    if (is_closed(rc)) {
        job->code_unknown = true;
        closed_folder(job->code_dir, rc, findings);
        return;
    }
    if (job->code_files.n || same_folder(job->submit_dir, job->code_dir))
        return;
    job->code_fetch = true;
    look_at_submit_dir(job, list, findings);
}

static bool is_program(const char *name)
{
    return ends(name, ".py") || ends(name, ".sh");
}

/* "a.py, b.sh": what could have been meant; to free(). */
static char *programs_in(const struct strv *names)
{
    auto_buf struct buf text = {0};
    size_t n = 0;

    for (size_t i = 0; i < names->n; i++) {
        if (!is_program(names->v[i]))
            continue;
        if (n++ == PROGRAMS_SHOWN) {
            buf_str(&text, ", ...");
            break;
        }
        buf_printf(&text, "%s%s", n > 1 ? ", " : "", names->v[i]);
    }
    return n ? buf_take(&text) : mem_dup("none");
}

static void no_program(const struct job *job, struct findings *findings)
{
    auto_free char *programs =
        job->code_unknown ? mem_dup("not known") : programs_in(&job->code_files);

    findings_fatal(findings, BLAME_CONFIG,
                   "no program is named: neither sagemaker_program in "
                   "%s/input/config/hyperparameters.json nor the variable SAGEMAKER_PROGRAM is "
                   "set (programs in %s: %s)",
                   job->base, job->code_dir, programs);
}

static void missing_program(const struct job *job, const char *folder, const struct strv *names,
                            struct findings *findings)
{
    auto_free char *programs = programs_in(names);
    const char *near =
        names_nearest(last_of(job->program), (const char *const *)strv_list(names), names->n);
    auto_free char *hint = near ? mem_printf("; is %s meant?", near) : mem_dup("");

    if (job->entry == ENTRY_PACKAGE)
        findings_warn(findings, "%s: no %s there, so the package must provide it%s", folder,
                      job->program, hint);
    else
        findings_fatal(findings, BLAME_CONFIG, "%s: no %s there%s (programs there: %s)", folder,
                       job->program, hint, programs);
}

/* Does the path lead out of the folder by its ".."? */
static bool leads_out(const char *path, const char *root)
{
    auto_free char *normal = path_normal(path);
    auto_free char *folder = path_normal(root);
    size_t n = strlen(folder);

    return strncmp(normal, folder, n) != 0 || normal[n] != '/';
}

static void outside_program(const struct job *job, const char *path, const char *root,
                            struct findings *findings)
{
    auto_free char *normal = path_normal(path);

    findings_fatal(findings, BLAME_CONFIG,
                   "%s: no such program; %s leads out of the code folder %s", normal, job->program,
                   root);
}

/* The folder with the code as it lies now: before a fetch, that is where it comes from. */
static void check_program(const struct job *job, job_lister list, struct findings *findings)
{
    const char *root = job->code_fetch ? job->submit_dir : job->code_dir;
    auto_free char *path =
        job->program[0] == '/' ? mem_dup(job->program) : path_join(root, job->program);
    auto_free char *folder = path_parent(path);
    auto_strv struct strv names = {0};
    auto_strv struct strv inside = {0};
    int rc = list(path, &inside);

    if ((!rc || is_closed(rc)) && job->entry != ENTRY_PACKAGE) {
        findings_fatal(findings, BLAME_CONFIG, "%s: expected a program, found a folder", path);
        return;
    }
    rc = list(folder, &names);
    if (!rc && strv_has(&names, last_of(path)))
        return;
    if (is_closed(rc))
        closed_folder(folder, rc, findings);
    else if (job->program[0] != '/' && leads_out(path, root))
        outside_program(job, path, root, findings);
    else
        missing_program(job, rc ? root : folder, rc ? &job->code_files : &names, findings);
}

void job_find_entry(struct job *job, job_lister list, struct findings *findings)
{
    find_code(job, list, findings);
    job->entry = entry_classify(job->program, &job->code_files);
    if (job->entry == ENTRY_PACKAGE || job->entry == ENTRY_MODULE)
        job->entry_module = entry_module_name(job->program);
    if (job->entry == ENTRY_NONE)
        no_program(job, findings);
    else if (job->entry != ENTRY_MODULE && !job->code_unknown)
        check_program(job, list, findings);
}
