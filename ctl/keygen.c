/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "core/keyform.h"
#include "ctl/verbs.h"

static int say(const char *path, int rc)
{
    (void)fprintf(stderr, "serry keygen: %s: %s\n", path, strerror(-rc));
    return err_status(rc == -EEXIST ? BLAME_USER : BLAME_PLATFORM);
}

/* A new file, for its owner only: a key that is in use is never written over. */
static int write_file(const char *path, const char *text)
{
    auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));

    if (fd >= 0 && rc < 0)
        (void)unlink(path);
    return rc;
}

int ctl_keygen(int argc, char **argv)
{
    unsigned char key[KEYFORM_BYTES];
    char text[KEYFORM_TEXT_SIZE];
    int rc;

    if (argc == 1 && !strcmp(argv[0], "--help"))
        return ctl_help("keygen");
    if (argc > 1 || (argc == 1 && argv[0][0] == '-'))
        return ctl_usage("keygen", "expected the name of one file, or none");
    if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
        return say("random bytes", -errno);
    keyform_write(key, text);
    rc = argc ? write_file(argv[0], text) : fd_write_all(STDOUT_FILENO, text, strlen(text));
    explicit_bzero(key, sizeof(key));
    explicit_bzero(text, sizeof(text));
    return rc < 0 ? say(argc ? argv[0] : "standard output", rc) : 0;
}
