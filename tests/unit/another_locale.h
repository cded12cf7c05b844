/* A locale whose decimal point is none, such as de_DE. Few machines have one
 * installed: the test makes it. */
#ifndef ANOTHER_LOCALE_H
#define ANOTHER_LOCALE_H
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Makes `name` in a folder and enters it; 0: not possible here. */
static inline int another_locale(const char *folder, const char *name)
{
    char command[400], full[64];
    int made;

    (void)snprintf(command, sizeof command,
                   "localedef -c -f UTF-8 -i %s '%s/%s.UTF-8' >/dev/null 2>&1",
                   name, folder, name);
    (void)snprintf(full, sizeof full, "%s.UTF-8", name);
    made = system(command); /* warnings make it 1 */
    return made != -1 && WEXITSTATUS(made) <= 1 &&
           setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_ALL, full) &&
           strcmp(localeconv()->decimal_point, ".") != 0;
}

/* Back to the usual one; the folder goes. 0: it went. */
static inline int usual_locale(const char *folder)
{
    char command[400];

    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return setlocale(LC_ALL, "C") ? system(command) : -1;
}
#endif
