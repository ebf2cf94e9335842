/* SPDX-License-Identifier: Apache-2.0
 *
 * replay - runs a fuzzer once on every file of its corpus, without a fuzzing engine, and says so in
 * TAP.
 *
 * fuzz_NAME [FOLDER]; FOLDER defaults to $srcdir/tests/fuzz/corpus/NAME. */
#include "config.h"

#include "fuzz.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 10000
#define BYTES_MAX ((size_t)1 << 20)

static char *corpus_of(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;
    const char *source = getenv("srcdir");

    if (strncmp(name, "fuzz_", 5) == 0)
        name += 5;
    return mem_printf("%s/tests/fuzz/corpus/%s", source ? source : ".", name);
}

int main(int argc, char **argv)
{
    auto_free char *folder = argc > 1 ? mem_dup(argv[1]) : corpus_of(argv[0]);
    auto_strv struct strv names = {0};
    int rc = folder_list(folder, FILES_MAX, &names);

    if (rc || !names.n) {
        (void)fprintf(stderr, "%s: expected a corpus in %s, found %s\n", argv[0], folder,
                      rc ? strerror(-rc) : "no files");
        return 1;
    }
    (void)printf("1..%zu\n", names.n);
    for (size_t i = 0; i < names.n; i++) {
        auto_free char *path = path_join(folder, names.v[i]);
        struct err err = ERR_INIT;
        size_t n = 0;
        auto_free char *data = file_read(path, BYTES_MAX, &n, &err);

        if (!data) {
            (void)fprintf(stderr, "%s: %s\n", argv[0], err.text);
            return 1;
        }
        (void)printf("# %s\n", path); /* the last one names the file that crashed */
        (void)fflush(stdout);
        (void)LLVMFuzzerTestOneInput((const uint8_t *)data, n);
        (void)printf("ok %zu - %s\n", i + 1, names.v[i]);
    }
    return 0;
}
