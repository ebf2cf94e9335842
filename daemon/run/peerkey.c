/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/peerkey.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "core/job.h"
#include "core/keyform.h"
#include "core/settings.h"

#define LABEL    "serried peer key 1"
#define VARIABLE "SERRIED_JOB_KEY"
#define FILE_MAX 4096

/* ---- where the secret is --------------------------------------------------------------------- */

static int check_owner(const char *path, const struct stat *st, struct err *err)
{
    if (!S_ISREG(st->st_mode))
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       "setting peer.key_file: %s: expected a plain file", path);
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return err_set(err, BLAME_CONFIG, -EPERM,
                       "setting peer.key_file: %s: it belongs to user %u, and not to us", path,
                       (unsigned)st->st_uid);
    if (st->st_mode & (st->st_uid == geteuid() ? 077 : 022))
        return err_set(err, BLAME_CONFIG, -EPERM,
                       "setting peer.key_file: %s: others may use it (mode %o): chmod 600", path,
                       (unsigned)st->st_mode & 07777);
    return 0;
}

static int read_file(const char *path, unsigned char secret[PEERKEY_SIZE], struct err *err)
{
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char text[FILE_MAX];
    struct stat st;
    ssize_t n;
    bool good;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, BLAME_CONFIG, -errno, "setting peer.key_file: %s: %s", path,
                       strerror(errno));
    if (check_owner(path, &st, err) < 0)
        return err->code;
    n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return err_set(err, BLAME_CONFIG, -errno, "setting peer.key_file: %s: %s", path,
                       strerror(errno));
    text[n] = '\0';
    good = keyform_read(text, secret);
    OPENSSL_cleanse(text, sizeof(text));
    if (!good)
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       "setting peer.key_file: %s: expected what serry keygen writes", path);
    return 0;
}

/* 1: there is one, 0: there is none. */
static int find_secret(const struct settings *settings, const struct job *job,
                       unsigned char secret[PEERKEY_SIZE], struct err *err)
{
    const char *variable = strv_env(&job->container, VARIABLE);

    if (*settings->peer_key_file)
        return read_file(settings->peer_key_file, secret, err) < 0 ? err->code : 1;
    if (!variable || !*variable)
        return 0;
    if (!keyform_read(variable, secret))
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       VARIABLE ": expected %lu hexadecimal digits, or what serry keygen writes",
                       KEYFORM_DIGITS);
    return 1;
}

/* ---- the key ----------------------------------------------------------------------------------
 */

/* What all hosts know: the job's name; of one without a name its hosts, in an order that nobody can
 * mistake. (With a name, hosts whose lists differ can still tell each other how.) */
static void describe(const struct job *job, struct buf *out)
{
    auto_strv struct strv hosts = {0};

    job_sorted_hosts(job, &hosts);
    buf_printf(out, "%s\n", job->training_job ? job->training_job : "");
    if (job->training_job && *job->training_job)
        return;
    for (size_t i = 0; i < hosts.n; i++)
        buf_printf(out, "%s\n", hosts.v[i]);
}

static bool derive(const unsigned char *secret, size_t n, const struct buf *info,
                   unsigned char out[PEERKEY_SIZE])
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    char digest[] = "SHA256";
    char label[] = LABEL;
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)secret, n),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, label, sizeof(label) - 1),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info->data, info->len),
        OSSL_PARAM_construct_end(),
    };
    bool good = context && EVP_KDF_derive(context, out, PEERKEY_SIZE, params) == 1;

    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return good;
}

static bool make_tag(const struct buf *info, char tag[17])
{
    unsigned char digest[EVP_MAX_MD_SIZE];

    if (EVP_Digest(info->data, info->len, digest, NULL, EVP_sha256(), NULL) != 1)
        return false;
    for (size_t i = 0; i < 8; i++)
        (void)snprintf(tag + 2 * i, 3, "%02x", digest[i]);
    return true;
}

int peerkey_get(const struct settings *settings, const struct job *job, struct peerkey *out,
                struct err *err)
{
    unsigned char secret[PEERKEY_SIZE] = LABEL;
    auto_buf struct buf info = {0};
    int found = find_secret(settings, job, secret, err);
    bool good;

    if (found < 0)
        return found;
    if (!found && strcmp(settings->peer_key, "required") == 0)
        return err_set(err, BLAME_CONFIG, -ENOKEY,
                       "setting peer.key = required: expected a key in peer.key_file or " VARIABLE
                       ", found none; serry keygen makes one for all hosts");
    describe(job, &info);
    out->derived = !found;
    good = derive(secret, sizeof(secret), &info, out->bytes) && make_tag(&info, out->tag);
    OPENSSL_cleanse(secret, sizeof(secret));
    if (!good)
        return err_set(err, BLAME_PLATFORM, -ENOTSUP, "OpenSSL cannot make the job's key");
    return 0;
}

void peerkey_done(struct peerkey *key)
{
    OPENSSL_cleanse(key, sizeof(*key));
}
