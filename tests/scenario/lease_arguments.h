/* What the functions of leases refuse; tried by arguments.c. */
#ifndef LEASE_ARGUMENTS_H
#define LEASE_ARGUMENTS_H
#include "wrongs.h"

static void leases(void **state)
{
    hdp_lease_options options = { .size = sizeof options };
    hdp_lease_info info = { .size = sizeof info };
    hdp_lease_device_info device = { .size = sizeof device };
    hdp_lease_list_info list = { .size = sizeof list };
    hdp_lease_entry entry = { .size = sizeof entry };
    hdp_lease *lease;
    hdp_lease_list *looked;
    int32_t fd = 0;
    char text[64];

    (void)state;
    options.directory = own.folder;
    REFUSED(hdp_lease_acquire, NULL, own.context, "sim:0", &options);
    WRONG_OUT(lease, CONTEXT, hdp_lease_acquire, &lease, h, "sim:0", &options);
    REFUSED(hdp_lease_acquire, &lease, own.context, "sim:x", &options);
    options.count = 2;
    REFUSED(hdp_lease_acquire, &lease, own.context, "sim:0", &options);
    options.count = -1;
    REFUSED(hdp_lease_acquire, &lease, own.context, "sim:0", &options);
    options.count = 0;
    options.policy = 4;
    REFUSED(hdp_lease_acquire, &lease, own.context, "sim:0", &options);
    options.policy = HDP_LEASE_FASTEST;
    WRONG_OUT(lease, PROFILE, hdp_lease_acquire, &lease, own.context, "sim:0",
              (options.profile = h, &options));
    options.profile = NULL;
    WRONG_OUT(lease, CONTEXT, hdp_lease_adopt, &lease, h, "3=.,4=GPU-a");
    REFUSED(hdp_lease_adopt, NULL, own.context, "3=.,4=GPU-a");
    REFUSED(hdp_lease_adopt, &lease, own.context, "3=.");
    WRONG(LEASE, hdp_lease_get, &info, h);
    REFUSED(hdp_lease_get, NULL, own.lease);
    WRONG(LEASE, hdp_lease_device, &device, h, 0);
    OUT_OF_RANGE(hdp_lease_device, &device, own.lease, -1);
    OUT_OF_RANGE(hdp_lease_device, &device, own.lease, 1);
    REFUSED(hdp_lease_device, NULL, own.lease, 0);
    WRONG(LEASE, hdp_lease_mask, h, text, sizeof text, NULL);
    REFUSED(hdp_lease_mask, own.lease, NULL, sizeof text, NULL);
    WRONG(LEASE, hdp_lease_spec, h, text, sizeof text, NULL);
    REFUSED(hdp_lease_spec, own.lease, NULL, sizeof text, NULL);
    WRONG(LEASE, hdp_lease_hand_over, h, text, sizeof text, NULL);
    REFUSED(hdp_lease_hand_over, own.lease, NULL, sizeof text, NULL);
    WRONG(LEASE, hdp_lease_name_holder, h, 1);
    REFUSED(hdp_lease_name_holder, own.lease, 0);
    REFUSED(hdp_lease_name_holder, own.lease, INT64_MAX);
    WRONG(LEASE, hdp_lease_descriptor, &fd, h, 0);
    OUT_OF_RANGE(hdp_lease_descriptor, &fd, own.lease, 2);
    expect_number(-1, fd, "a descriptor that is not there");
    REFUSED(hdp_lease_descriptor, NULL, own.lease, 0);
    WRONG_OUT(looked, CONTEXT, hdp_lease_list_create, &looked, h, "sim:0",
              NULL);
    REFUSED(hdp_lease_list_create, NULL, own.context, "sim:0", NULL);
    WRONG(LEASE_LIST, hdp_lease_list_get, &list, h);
    WRONG(LEASE_LIST, hdp_lease_list_entry, &entry, h, 0);
    OUT_OF_RANGE(hdp_lease_list_entry, &entry, own.list, 1);
    REFUSED(hdp_lease_list_entry, NULL, own.list, 0);
}
#endif
