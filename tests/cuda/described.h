/* Machine files of a test's own: a shipped one changed in places, or written
 * anew. */
#ifndef DESCRIBED_H
#define DESCRIBED_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "scenario/scene.h"

enum { DESCRIBED_ROOM = 1 << 16 };

/* The text of a file of examples/machines. */
static inline void described_read(char text[DESCRIBED_ROOM], const char *name)
{
    char path[512];
    size_t length;
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/examples/machines/%s.json",
                   getenv("HDP_SOURCE_DIR"), name);
    file = fopen(path, "r");
    assert_non_null(file);
    length = fread(text, 1, DESCRIBED_ROOM - 1, file);
    assert_in_range(length, 1, DESCRIBED_ROOM - 2);
    text[length] = '\0';
    (void)fclose(file);
}

static inline void described_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_not_equal(fputs(text, file), EOF);
    assert_int_equal(fclose(file), 0);
}

/* Takes the document. */
static inline void described_dump(const char *path, json_t *root)
{
    assert_non_null(root);
    assert_int_equal(json_dump_file(root, path, 0), 0);
    json_decref(root);
}
#endif
