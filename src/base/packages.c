/* Packages of Python that are loaded stand beside those that are not, and its
 * own modules beside the folder of all packages: what the loader has mapped
 * shows the folders without asking the interpreter. */
#include "base/packages.h"
#include <link.h>
#include <stdio.h>
#include <string.h>

static void add(struct hdpi_packages *packages, const char *path, size_t length,
                const char *tail)
{
    char *next = packages->path[packages->count];

    if (length + strlen(tail) >= HDPI_PACKAGES_PATH)
        return;
    (void)snprintf(next, HDPI_PACKAGES_PATH, "%.*s%s", (int)length, path, tail);
    for (int i = 0; i < packages->count; ++i)
        if (strcmp(packages->path[i], next) == 0)
            return;
    packages->count++;
}

static int see(struct dl_phdr_info *info, size_t size, void *arg)
{
    static const char *const marks[] = { "/site-packages/", "/dist-packages/" };
    static const char own[] = "/lib-dynload/";
    struct hdpi_packages *packages = arg;
    const char *path = info->dlpi_name, *found;

    (void)size;
    for (size_t i = 0; path && i < sizeof marks / sizeof *marks; ++i) {
        found = strstr(path, marks[i]);
        if (found && packages->count < HDPI_PACKAGES_MAX)
            add(packages, path, (size_t)(found - path) + strlen(marks[i]) - 1,
                "");
    }
    found = path ? strstr(path, own) : NULL;
    if (found && packages->count < HDPI_PACKAGES_MAX)
        add(packages, path, (size_t)(found - path), "/site-packages");
    return 0;
}

void hdpi_packages_find(struct hdpi_packages *out)
{
    out->count = 0;
    (void)dl_iterate_phdr(see, out);
}
