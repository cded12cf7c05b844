/* How long products take: the curve of the profile that fits best, read
 * between its points without rounding to whole items. */
#include "rates.h"
#include "core/profile.h"

/* Of time, where the library was not told how small the partition is. */
static const double untold = 112.0 / 97.0;

int fake_can(const struct fake_device *device, int dtype)
{
    return ((device->info.native_dtypes | device->info.slow_dtypes) >> dtype &
            1) != 0;
}

/* 0: no answer; the more the better. */
static int fits(const hdp_profile_info *info, int dtype, int compute)
{
    if (info->probe != HDP_PROBE_GEMM || info->dtype != dtype)
        return 0;
    return 1 + (info->compute == compute);
}

static const struct hdpi_rank_profile *find(const struct fake_device *device,
                                            int dtype, int compute)
{
    const struct hdpi_machine *machine = device->model->machine;
    const struct hdpi_rank_profile *found = NULL;
    int count = machine->topology->info.device_count, best = 0;

    for (int p = 0; p < machine->profile_count; ++p) {
        const hdp_profile *profile = machine->profiles[p];
        int member = machine->members[p * count + device->model->device];
        int fit = fits(&profile->info, dtype, compute);
        if (member < 0 || fit <= best || profile->ranks[member].lacks_dtype ||
            !(profile->ranks[member].rate_flops > 0))
            continue;
        best = fit;
        found = &profile->ranks[member];
    }
    return found;
}

/* Items a second where the curve is at its longest. */
static double items_rate(const struct hdpi_rank_profile *rank)
{
    int64_t last = rank->point_count - 1;

    if (rank->rate > 0)
        return rank->rate;
    if (last >= 0)
        return (double)rank->point_items[last] / rank->point_ns[last] * 1e9;
    return rank->item_ns > 0 ? 1e9 / rank->item_ns : 0;
}

/* Flat below the first point, straight lines between, on with the last. */
static double curve_ns(const struct hdpi_rank_profile *rank, double items)
{
    int64_t i = 0;

    if (rank->point_count == 0)
        return rank->fixed_ns + rank->item_ns * items;
    if (items <= (double)rank->point_items[0])
        return rank->point_ns[0];
    while (i + 1 < rank->point_count &&
           (double)rank->point_items[i + 1] <= items)
        i++;
    return rank->point_ns[i] +
           rank->slope_ns[i] * (items - (double)rank->point_items[i]);
}

double fake_product_ns(const struct fake_device *device, int dtype, int compute,
                       double flops, int sms, int target)
{
    const struct hdpi_rank_profile *rank = find(device, dtype, compute);
    double part =
        device->info.sm_count > 0 ? (double)sms / device->info.sm_count : 1;
    double rate, ns;

    if (!rank)
        rank = find(device, HDP_F32, HDP_F32);
    rate = rank ? items_rate(rank) : 0;
    ns = rate > 0 ? curve_ns(rank, flops * rate / rank->rate_flops) : 0;
    if (ns < device->launch_ns)
        ns = device->launch_ns;
    if (target > 0 && target < sms)
        part = part * target / sms;
    if (part < 1)
        ns /= part;
    if (sms < device->info.sm_count && target != sms)
        ns *= untold;
    return ns;
}
