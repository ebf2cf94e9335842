/* SPDX-License-Identifier: Apache-2.0
 *
 * names - a preload for hosts without isolation (loose.c): who asks for the machine's name, for the
 * address of a host, or for interfaces gets what an isolated host would see.
 *
 * SERRY_EMULATED_NAME is the host's name, SERRY_EMULATED_HOSTS a file of "ADDRESS NAME" lines,
 * which is read anew at each question: names may come late. All else goes to the C library.
 * Programs that are linked statically see nothing of it. */
#include "config.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NAME_MAX_BYTES 254

static const char *own_name(void)
{
    const char *name = getenv("SERRY_EMULATED_NAME");

    return name && *name ? name : NULL;
}

/* 1: found, 0: a name of no host, -1: a host of the emulation whose name is not known (yet). */
static int find(const char *name, char address[64])
{
    const char *path = getenv("SERRY_EMULATED_HOSTS");
    FILE *file = path ? fopen(path, "re") : NULL;
    char line[512], at[64], host[NAME_MAX_BYTES];
    int found = 0;

    while (file && !found && fgets(line, sizeof(line), file)) {
        int hidden = line[0] == '#';

        if (sscanf(line + hidden, "%63s %253s", at, host) != 2 || strcmp(host, name) != 0)
            continue;
        memcpy(address, at, sizeof(at));
        found = hidden ? -1 : 1;
    }
    if (file)
        (void)fclose(file);
    return found;
}

int gethostname(char *name, size_t size)
{
    int (*real)(char *, size_t) = (int (*)(char *, size_t))dlsym(RTLD_NEXT, "gethostname");
    const char *own = own_name();

    if (!own)
        return real(name, size);
    if (strlen(own) >= size) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(name, own, strlen(own) + 1);
    return 0;
}

int uname(struct utsname *out)
{
    int (*real)(struct utsname *) = (int (*)(struct utsname *))dlsym(RTLD_NEXT, "uname");
    const char *own = own_name();
    int rc = real(out);

    if (!rc && own)
        (void)snprintf(out->nodename, sizeof(out->nodename), "%s", own);
    return rc;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(
            RTLD_NEXT, "getaddrinfo");
    char address[64];
    int found = node ? find(node, address) : 0;

    return found < 0 ? EAI_NONAME : real(found ? address : node, service, hints, out);
}

struct hostent *gethostbyname(const char *name)
{
    struct hostent *(*real)(const char *) =
        (struct hostent * (*)(const char *)) dlsym(RTLD_NEXT, "gethostbyname");
    char address[64];
    int found = find(name, address);

    if (found < 0)
        h_errno = HOST_NOT_FOUND;
    return found < 0 ? NULL : real(found ? address : name);
}

int gethostbyname_r(const char *name, struct hostent *out, char *space, size_t size,
                    struct hostent **result, int *error)
{
    int (*real)(const char *, struct hostent *, char *, size_t, struct hostent **, int *) =
        (int (*)(const char *, struct hostent *, char *, size_t, struct hostent **, int *))dlsym(
            RTLD_NEXT, "gethostbyname_r");
    char address[64];
    int found = find(name, address);

    if (found < 0) {
        *result = NULL;
        *error = HOST_NOT_FOUND;
        return 0;
    }
    return real(found ? address : name, out, space, size, result, error);
}

/* ---- interfaces: lo, and eth0 with the host's own address ---------------------------------- */

struct faces {
    struct ifaddrs list[2];
    struct sockaddr_in address[2], mask;
    char name[2][IF_NAMESIZE];
};

static int own_address(struct in_addr *out)
{
    char address[64];
    const char *own = own_name();

    return own && find(own, address) && inet_pton(AF_INET, address, out) == 1;
}

int getifaddrs(struct ifaddrs **out)
{
    int (*real)(struct ifaddrs **) = (int (*)(struct ifaddrs **))dlsym(RTLD_NEXT, "getifaddrs");
    struct in_addr own;
    struct faces *f;

    if (!own_address(&own))
        return real(out);
    f = calloc(1, sizeof(*f));
    if (!f) {
        errno = ENOMEM;
        return -1;
    }
    f->mask = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(0xff000000)}};
    for (int i = 0; i < 2; i++) {
        (void)snprintf(f->name[i], sizeof(f->name[i]), "%s", i ? "eth0" : "lo");
        f->address[i] = f->mask;
        f->address[i].sin_addr.s_addr = i ? own.s_addr : htonl(INADDR_LOOPBACK);
        f->list[i] = (struct ifaddrs){
            .ifa_next = i ? NULL : &f->list[1],
            .ifa_name = f->name[i],
            .ifa_flags = (unsigned)(IFF_UP | IFF_RUNNING | (i ? IFF_BROADCAST : IFF_LOOPBACK)),
            .ifa_addr = (struct sockaddr *)&f->address[i],
            .ifa_netmask = (struct sockaddr *)&f->mask};
    }
    *out = f->list;
    return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
    void (*real)(struct ifaddrs *) = (void (*)(struct ifaddrs *))dlsym(RTLD_NEXT, "freeifaddrs");
    struct in_addr own;

    if (own_address(&own))
        free(list);
    else
        real(list);
}

struct if_nameindex *if_nameindex(void)
{
    struct if_nameindex *(*real)(void) =
        (struct if_nameindex * (*)(void)) dlsym(RTLD_NEXT, "if_nameindex");
    struct in_addr own;
    struct if_nameindex *all;
    char *names;

    if (!own_address(&own))
        return real();
    all =
        calloc(1, 3 * sizeof(*all) + 16); /* the C library's if_freenameindex() would free names */
    if (!all)
        return NULL;
    names = (char *)(all + 3);
    memcpy(names, "lo\0eth0", 8);
    all[0] = (struct if_nameindex){1, names};
    all[1] = (struct if_nameindex){2, names + 3};
    return all;
}

void if_freenameindex(struct if_nameindex *all)
{
    void (*real)(struct if_nameindex *) =
        (void (*)(struct if_nameindex *))dlsym(RTLD_NEXT, "if_freenameindex");
    struct in_addr own;

    if (own_address(&own))
        free(all);
    else
        real(all);
}
