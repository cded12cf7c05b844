/* Small files of the machine, as the kernel and containers leave them. */
#include "doctor.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 1024 };

static const char *place(const struct doctor *self, const char *path,
                         char out[PATH_ROOM])
{
    snprintf(out, PATH_ROOM, "%s%s", self->root, path);
    return out;
}

int doctor_read(const struct doctor *self, const char *path, char *out,
                size_t size)
{
    char whole[PATH_ROOM];
    FILE *file = fopen(place(self, path, whole), "re");
    size_t length;

    out[0] = 0;
    if (!file)
        return 0;
    length = fread(out, 1, size - 1, file);
    out[length] = 0;
    fclose(file);
    return 1;
}

int doctor_exists(const struct doctor *self, const char *path)
{
    char whole[PATH_ROOM];

    return access(place(self, path, whole), F_OK) == 0;
}

int doctor_usable(const struct doctor *self, const char *path)
{
    char whole[PATH_ROOM];

    return access(place(self, path, whole), R_OK | W_OK) == 0;
}

int doctor_list(struct doctor *self, const char *path,
                void (*each)(struct doctor *self, const char *name))
{
    char whole[PATH_ROOM];
    DIR *folder = opendir(place(self, path, whole));
    int count = 0;

    if (!folder)
        return -1;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (each)
            each(self, entry->d_name);
        count++;
    }
    closedir(folder);
    return count;
}
