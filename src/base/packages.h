/* The folders of Python's packages, in a process of Python: where wheels have
 * put the libraries that other packages load by their paths. */
#ifndef HDPI_PACKAGES_H
#define HDPI_PACKAGES_H

enum { HDPI_PACKAGES_MAX = 8, HDPI_PACKAGES_PATH = 512 };

struct hdpi_packages {
    int count; /* 0: no process of Python, or none to be seen */
    char path[HDPI_PACKAGES_MAX][HDPI_PACKAGES_PATH]; /* ".../site-packages" */
};

/** Sees them by what the process has mapped out of them. Any thread; opens and
 *  allocates nothing. */
void hdpi_packages_find(struct hdpi_packages *out);
#endif
