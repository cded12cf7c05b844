/* The fake's own heap, apart from the program's: scenarios count what hdp asks
 * of malloc and compare the heap before and after, and what a driver keeps is
 * none of their business. Included before each of the fake's sources, but not
 * under a sanitizer, which shall see these blocks too. */
#ifndef FAKE_HEAP_H
#define FAKE_HEAP_H
#include <stdlib.h>
#include <string.h>

void *fake_heap_take(size_t bytes); /* zeroed; NULL when memory is short */
void *fake_heap_resize(void *memory, size_t bytes);
void fake_heap_give(void *memory);

#ifndef FAKE_HEAP_ITSELF
#define malloc(bytes) fake_heap_take(bytes)
#define calloc(count, bytes) fake_heap_take((size_t)(count) * (bytes))
#define realloc(memory, bytes) fake_heap_resize(memory, bytes)
#define free(memory) fake_heap_give(memory)
#endif
#endif
