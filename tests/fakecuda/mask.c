/* What a process sees of the devices: the order, the mask, and of MIG instances
 * one. A device that is cut stands for its first instance; where any instance
 * is seen, CUDA shows the first of them and nothing else. */
#include <stdlib.h>
#include <string.h>
#include "core/visibility.h"
#include "state.h"

static int by_address(const void *left, const void *right)
{
    const int *one = left, *other = right;

    return strcmp(fake.devices[*one].info.pci, fake.devices[*other].info.pci);
}

/* -1: it has none. */
static int first_instance(int number)
{
    for (int i = 0; i < fake.instance_count; i++)
        if (fake.devices[fake.device_count + i].parent == number)
            return fake.device_count + i;
    return -1;
}

/* Devices in the order of CUDA's numbers; machine files name the fastest first.
 * A cut one that has no instance has no number. */
static int number_devices(int numbers[FAKE_DEVICES_MAX], const char *order)
{
    int count = 0;

    for (int i = 0; i < fake.device_count; i++)
        if (!fake.devices[i].mig || first_instance(i) >= 0)
            numbers[count++] = i;
    if (hdpi_visibility_order(order) == HDPI_ORDER_PCI)
        qsort(numbers, (size_t)count, sizeof numbers[0], by_address);
    return count;
}

/* No number leads to an instance beyond its device's; UUIDs do. */
static int add_instances(int numbers[FAKE_DEVICES_MAX], int count,
                         const char *mask)
{
    if (mask &&
        (strncmp(mask, "MIG-", 4) == 0 || strncmp(mask, "GPU-", 4) == 0))
        for (int i = 0; i < fake.instance_count; i++)
            numbers[count++] = fake.device_count + i;
    return count;
}

static void show(const int *numbers, int count)
{
    int only = -1;

    fake.visible_count = 0;
    for (int i = 0; i < count; i++) {
        int number = numbers[i];
        if (fake.devices[number].mig)
            number = first_instance(number);
        if (only < 0 && fake.devices[number].parent >= 0)
            only = number;
        fake.visible[fake.visible_count++] = number;
    }
    if (only >= 0) {
        fake.visible[0] = only;
        fake.visible_count = 1;
    }
    for (int i = 0; i < fake.visible_count; i++)
        fake.devices[fake.visible[i]].visible = i;
}

void fake_mask_read(void)
{
    const char *mask = getenv("CUDA_VISIBLE_DEVICES");
    const char *order = getenv("CUDA_DEVICE_ORDER");
    struct hdpi_visibility seen = { 0 };
    const char *uuids[FAKE_DEVICES_MAX];
    int numbers[FAKE_DEVICES_MAX], shown[FAKE_DEVICES_MAX];
    int count = add_instances(numbers, number_devices(numbers, order), mask);

    for (int i = 0; i < count; i++)
        uuids[i] = fake.devices[numbers[i]].info.uuid;
    if (hdpi_visibility_resolve(&seen, mask, order, uuids, count) != HDP_OK)
        abort();
    fake.mask_error = !seen.error ? 0
                      : strcmp(seen.error, "cudaErrorNoDevice") == 0
                          ? cudaErrorNoDevice
                          : cudaErrorInvalidDevice;
    for (int i = 0; i < seen.visible_count; i++)
        shown[i] = numbers[seen.visible[i]];
    show(shown, seen.visible_count);
    hdpi_visibility_finish(&seen);
}
