/* The devices of the fake, made from a machine file, each as often as asked;
 * what they are joined by, and how fast they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/spec_keys.h"
#include "json/json.h"
#include "state.h"

#ifndef FAKE_MACHINES
#error "FAKE_MACHINES: the folder of the machine files"
#endif

enum { COPY_ITEM_BYTES = 1 << 20, GEMM_ANY = 0 };

/* Where a file does not say. */
static const double link_rate = 12e9, copy_rate = 700e9;
static const double launch_ns = 4000, copy_fixed_ns = 4000;

/* ---- the file ------------------------------------------------------------- */

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size;

    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
        fseek(file, 0, SEEK_SET) == 0 && (text = malloc((size_t)size + 1)))
        *length = fread(text, 1, (size_t)size, file);
    fclose(file);
    return text;
}

static void find_path(char *out, size_t capacity, const char *name)
{
    if (strchr(name, '/'))
        snprintf(out, capacity, "%s", name);
    else
        snprintf(out, capacity, "%s/%s.json", FAKE_MACHINES, name);
}

/* ---- devices -------------------------------------------------------------- */

static double copy_of(const struct hdpi_model *model, double *fixed_ns)
{
    struct hdpi_figures figures;

    *fixed_ns = copy_fixed_ns;
    if (!hdpi_model_find(&figures, model, HDP_PROBE_COPY, 0))
        return copy_rate;
    if (figures.rank->point_count == 0)
        *fixed_ns = figures.rank->fixed_ns;
    return COPY_ITEM_BYTES * hdpi_profile_rate(figures.rank);
}

static double launch_of(const struct hdpi_model *model)
{
    struct hdpi_figures figures;

    if (!hdpi_model_find(&figures, model, HDP_PROBE_LAUNCH, 0))
        return launch_ns;
    return hdpi_figures_ns(&figures, 1);
}

/* Rows carry a link only where the file's devices do; members always. */
static void find_links(struct fake_device *device)
{
    struct hdpi_figures figures;

    device->in_bytes_per_second = device->out_bytes_per_second = link_rate;
    if (!hdpi_model_find(&figures, device->model, -1, 0))
        return;
    if (figures.rank->in_bytes_per_second > 0)
        device->in_bytes_per_second = figures.rank->in_bytes_per_second;
    if (figures.rank->out_bytes_per_second > 0)
        device->out_bytes_per_second = figures.rank->out_bytes_per_second;
}

/* The last two digits of a copy's uuid and its domain are its own. */
static void tell_apart(hdp_device *info, int copy)
{
    size_t length = strlen(info->uuid);
    unsigned last;

    if (copy == 0 || length < 2)
        return;
    last = (unsigned)strtoul(info->uuid + length - 2, NULL, 16);
    snprintf(info->uuid + length - 2, 3, "%02x",
             (last ^ (unsigned)copy) & 0xffu);
    if (strlen(info->pci) > 4) {
        char rest[sizeof info->pci];
        snprintf(rest, sizeof rest, "%s", info->pci + 4);
        snprintf(info->pci, sizeof info->pci, "%04x%.20s", (unsigned)copy,
                 rest);
    }
}

void fake_machine_others(struct fake_device *device)
{
    int whole = device->parent < 0 ? device->number : device->parent;
    enum fake_mode mode = fake.config.modes[whole];

    device->tenant_bytes = fake.config.tenant_bytes[device->number];
    device->busy = (fake.config.busy >> device->number & 1) != 0;
    device->compute_mode = mode == FAKE_MODE_PROHIBITED
                               ? CU_COMPUTEMODE_PROHIBITED
                           : mode == FAKE_MODE_EXCLUSIVE || device->busy
                               ? CU_COMPUTEMODE_EXCLUSIVE_PROCESS
                               : CU_COMPUTEMODE_DEFAULT;
}

static void fill(int number, int count)
{
    struct fake_device *device = &fake.devices[number];
    int model = number % count;

    memset(device, 0, sizeof *device);
    device->number = number;
    device->visible = device->parent = -1;
    device->share = 1;
    device->info = fake.machine->topology->devices[model].info;
    device->model = &fake.machine->models[model];
    device->asked = fake.machine->faults[model];
    device->faults = &device->asked;
    tell_apart(&device->info, number / count);
    find_links(device);
    device->copy_bytes_per_second =
        copy_of(device->model, &device->copy_fixed_ns);
    device->launch_ns = launch_of(device->model);
    fake_machine_others(device);
}

/* ---- instances ------------------------------------------------------------ */

/* A seventh is an eighth of the multiprocessors, to the nearest even number;
 * memory comes in eighths, and one side keeps one of them. */
static void cut(struct fake_device *device, const struct fake_device *whole,
                int place, int sevenths)
{
    static const int eighths[] = { 0, 1, 2, 4, 4, 0, 0, 8 };
    hdp_device *info = &device->info;
    double part = eighths[sevenths] / 8.0;
    int64_t gib = INT64_C(1) << 30;
    char name[sizeof info->name];

    *device = *whole;
    device->faults = &device->asked;
    device->number = fake.device_count + fake.instance_count;
    device->parent = whole->number;
    device->mig = 0;
    info->sm_count = 2 * ((whole->info.sm_count + 8) / 16) * sevenths;
    info->memory_bytes = (int64_t)((double)info->memory_bytes * part);
    info->free_bytes = (int64_t)((double)info->free_bytes * part);
    device->share = (double)info->sm_count / whole->info.sm_count;
    device->copy_bytes_per_second *= part;
    snprintf(name, sizeof name, "%.40s MIG %dg.%dgb", whole->info.name,
             sevenths, (int)(info->memory_bytes / gib));
    memcpy(info->name, name, sizeof name);
    memcpy(info->uuid, "MIG-", 4);
    snprintf(info->uuid + 4, 3, "%02x", (unsigned)(place + 1) & 0xffu);
    info->uuid[6] = whole->info.uuid[6];
    fake_machine_others(device);
}

static int cut_all(char why[FAKE_TEXT_MAX])
{
    fake.instance_count = 0;
    for (int i = 0; i < FAKE_DEVICES_MAX; i++) {
        const struct fake_mig *mig = &fake.config.migs[i];
        if (!mig->on)
            continue;
        if (i >= fake.device_count || fake.devices[i].info.compute_major < 8 ||
            strncmp(fake.devices[i].info.uuid, "GPU-", 4) != 0) {
            snprintf(why, FAKE_TEXT_MAX, "mig of device %d, which %s", i,
                     i < fake.device_count ? "cannot be cut" : "is not there");
            return -1;
        }
        fake.devices[i].mig = 1;
        for (int s = 0; s < mig->count; s++) {
            int number = fake.device_count + fake.instance_count;
            if (number == FAKE_DEVICES_MAX) {
                snprintf(why, FAKE_TEXT_MAX, "more than %d devices",
                         FAKE_DEVICES_MAX);
                return -1;
            }
            cut(&fake.devices[number], &fake.devices[i], s, mig->sevenths[s]);
            fake.instance_count++;
        }
    }
    return 0;
}

/* As the machine file's own: noise=3%/slow=2x@100. */
static int add_keys(const struct fake_keys_row *row, char why[FAKE_TEXT_MAX])
{
    size_t start = 0, end;
    uint32_t seen = 0;

    if (row->device >= fake.device_count) {
        snprintf(why, FAKE_TEXT_MAX, "keys of device %d, which is not there",
                 row->device);
        return -1;
    }
    for (;; start = end + 1) {
        end = start + strcspn(row->keys + start, "/");
        if (hdpi_spec_read_key(&fake.devices[row->device].asked, &seen,
                               row->keys, start, end) != HDP_OK) {
            snprintf(why, FAKE_TEXT_MAX, "%s", hdpi_error()->text);
            return -1;
        }
        if (row->keys[end] == '\0')
            return 0;
    }
}

int fake_machine_open(char why[FAKE_TEXT_MAX])
{
    char path[2 * FAKE_TEXT_MAX];
    size_t length = 0;
    hdp_status status;
    char *text;
    int count;

    find_path(path, sizeof path, fake.config.machine);
    text = read_file(path, &length);
    if (!text) {
        snprintf(why, FAKE_TEXT_MAX, "no machine file %.900s", path);
        return -1;
    }
    status = hdpi_machine_read_json(&fake.machine, text, length);
    free(text);
    if (status != HDP_OK) {
        snprintf(why, FAKE_TEXT_MAX, "%.400s: %.500s", path,
                 hdpi_error()->text);
        return -1;
    }
    count = fake.machine->topology->info.device_count;
    if (count * fake.config.copies > FAKE_DEVICES_MAX) {
        snprintf(why, FAKE_TEXT_MAX, "more than %d devices", FAKE_DEVICES_MAX);
        return -1;
    }
    fake.device_count = count * fake.config.copies;
    for (int i = 0; i < fake.device_count; i++)
        fill(i, count);
    for (int i = 0; i < fake.config.keys_count; i++)
        if (add_keys(&fake.config.keys[i], why))
            return -1;
    return cut_all(why);
}

void fake_machine_close(void)
{
    hdpi_machine_free(fake.machine);
    fake.machine = NULL;
    fake.device_count = fake.instance_count = fake.visible_count = 0;
}

/* ---- asking --------------------------------------------------------------- */

struct fake_device *fake_device(int ordinal)
{
    if (ordinal < 0 || ordinal >= fake.visible_count)
        return NULL;
    return &fake.devices[fake.visible[ordinal]];
}

struct fake_device *fake_device_at(int number)
{
    if (number < 0 || number >= fake.device_count + fake.instance_count)
        return NULL;
    return &fake.devices[number];
}

int fake_device_count(void)
{
    return fake.visible_count;
}

int fake_device_count_all(void)
{
    return fake.device_count;
}

int fake_driver_version(void)
{
    return fake.config.driver;
}

void fake_touch(struct fake_device *device)
{
    device->touched++;
}

int fake_peering(const struct fake_device *one, const struct fake_device *other)
{
    for (int i = 0; i < fake.config.peer_count; i++) {
        const struct fake_peer_row *row = &fake.config.peers[i];
        if ((row->one == one->number && row->other == other->number) ||
            (row->one == other->number && row->other == one->number))
            return (int)row->kind;
    }
    return -1;
}

double fake_link(const struct fake_device *from, const struct fake_device *to,
                 int *peer)
{
    const hdp_topology *topology = fake.machine->topology;
    int count = topology->info.device_count;
    int one = from->model->device, other = to->model->device;
    int spoiled = fake_peering(from, to);
    double rate = from->out_bytes_per_second < to->in_bytes_per_second
                      ? from->out_bytes_per_second
                      : to->in_bytes_per_second;

    *peer = 0;
    if (topology->links && one != other && from->parent < 0 && to->parent < 0) {
        const struct hdpi_topology_link *link =
            &topology->links[one * count + other];
        *peer = link->peer;
        if (link->bytes_per_second > 0)
            rate = (double)link->bytes_per_second;
    }
    if (spoiled >= 0)
        *peer = spoiled != FAKE_PEER_REFUSE;
    return rate;
}

double fake_flops(const struct fake_device *device, int dtype, int compute)
{
    const struct hdpi_machine *machine = fake.machine;
    int count = machine->topology->info.device_count;

    for (int p = 0; p < machine->profile_count; p++) {
        const hdp_profile *profile = machine->profiles[p];
        int member = machine->members[p * count + device->model->device];
        if (profile->info.probe != HDP_PROBE_GEMM ||
            profile->info.dtype != dtype ||
            (compute != GEMM_ANY && profile->info.compute != compute) ||
            member < 0 || profile->ranks[member].lacks_dtype)
            continue;
        return profile->ranks[member].rate_flops * device->share;
    }
    return 0;
}

double fake_first_product(struct fake_device *device)
{
    return device->products++ == 0 ? (double)fake.config.first_product_ns : 0;
}

/* The sum of a counter, of one device or (below 0) of all. */
static int64_t sum_of(int device, size_t offset)
{
    int64_t sum = 0;

    fake_lock();
    fake_begin();
    for (int i = 0; i < fake.device_count + fake.instance_count; i++)
        if (device < 0 || device == i)
            sum += *(
                const int64_t *)(const void *)((const char *)&fake.devices[i] +
                                               offset);
    fake_unlock();
    return sum;
}

int64_t fake_contexts(int device)
{
    return sum_of(device, offsetof(struct fake_device, contexts));
}

int64_t fake_touched(int device)
{
    return sum_of(device, offsetof(struct fake_device, touched));
}

int64_t fake_refused(int device)
{
    return sum_of(device, offsetof(struct fake_device, refused));
}
