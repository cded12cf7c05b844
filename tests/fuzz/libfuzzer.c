/* Under libFuzzer: half of the changes are its own, which follow coverage, and
 * half keep the form of a text. */
#include "fuzz/fuzz.h"
#include "fuzz/mutate.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room,
                               unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room,
                               unsigned seed)
{
    uint64_t random = seed;

    if (fuzz_random(&random) % 2)
        return LLVMFuzzerMutate(data, size, room);
    return fuzz_mutate(data, size, room, &random);
}
