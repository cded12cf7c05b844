/* Where the process runs and what it was given: container, scheduler, WSL2,
 * memory that may be locked, shared memory. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "doctor.h"
#include "table.h"

static const char PLACE[] = "place", MEMORY[] = "memory";

/* ---- container, scheduler, WSL2 -------------------------------------------- */

/* By the marks that Docker and Podman leave, or the first process's group. */
static const char *container_name(const struct doctor *self)
{
    static const char *const words[] = { "docker", "kubepods", "containerd",
                                         "libpod", "lxc" };
    char text[4096];

    if (doctor_exists(self, "/.dockerenv"))
        return "Docker";
    if (doctor_exists(self, "/run/.containerenv"))
        return "Podman";
    if (doctor_read(self, "/proc/1/cgroup", text, sizeof text))
        for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
            if (strstr(text, words[i]))
                return words[i];
    return NULL;
}

/* "200000 100000": so many microseconds of each so many. */
static void say_cores(struct doctor *self)
{
    char text[64], *end;
    long long quota, period;

    if (!doctor_read(self, "/sys/fs/cgroup/cpu.max", text, sizeof text))
        return;
    quota = strtoll(text, &end, 10);
    period = strtoll(end, NULL, 10);
    if (end == text || period <= 0)
        return; /* "max" */
    doctor_say(self, PLACE, DOCTOR_NOTE, NULL,
               "the control group allows %lld %% of one core's time; threads "
               "beyond that wait for each other",
               quota * 100 / period);
}

static void say_container(struct doctor *self)
{
    const char *name = container_name(self);

    if (!name)
        return;
    if (self->gpus == 0 && self->cards > 0)
        doctor_say(self, PLACE, DOCTOR_ERROR,
                   "start it with --gpus all (NVIDIA Container Toolkit; in "
                   "Kubernetes: resources.limits nvidia.com/gpu)",
                   "a container (%s) that was given none of the %d GPUs of its "
                   "machine",
                   name, self->cards);
    else
        doctor_say(self, PLACE, DOCTOR_NOTE, NULL,
                   "a container (%s): leases know nothing of other containers "
                   "unless they share a folder (HDP_LEASE_DIR)",
                   name);
}

static void say_scheduler(struct doctor *self)
{
    const char *job = getenv("SLURM_JOB_ID");
    const char *gpus = getenv("SLURM_STEP_GPUS");

    if (!gpus)
        gpus = getenv("SLURM_JOB_GPUS");
    if (job && gpus)
        doctor_say(self, PLACE, DOCTOR_NOTE, NULL,
                   "Slurm job %.32s was given the GPUs %.64s; the mask counts "
                   "from 0 among them where devices are constrained",
                   job, gpus);
    else if (job)
        doctor_say(self, PLACE, self->cards > 0 ? DOCTOR_WARNING : DOCTOR_NOTE,
                   "ask for them: srun --gpus=N, or --gres=gpu:N",
                   "Slurm job %.32s was given no GPU", job);
    if (getenv("KUBERNETES_SERVICE_HOST"))
        doctor_say(self, PLACE, DOCTOR_NOTE, NULL,
                   "Kubernetes gives GPUs to containers by "
                   "resources.limits nvidia.com/gpu");
}

static void say_wsl(struct doctor *self)
{
    char text[512];

    if (!doctor_read(self, "/proc/version", text, sizeof text) ||
        !strcasestr(text, "microsoft"))
        return;
    if (self->gpus == 0)
        doctor_say(self, PLACE, DOCTOR_WARNING,
                   "install the driver in Windows, none in Linux; "
                   "/usr/lib/wsl/lib must be in the loader's path",
                   "WSL2 without a GPU%s",
                   doctor_exists(self, "/dev/dxg") ? ""
                                                   : ": /dev/dxg is missing");
    else
        doctor_say(self, PLACE, DOCTOR_NOTE, NULL,
                   "WSL2: the driver is Windows'; pinned memory is limited, "
                   "there is no peer access, and NVML tells less");
}

void doctor_place(struct doctor *self)
{
    int before = (int)json_array_size(self->findings);

    say_container(self);
    say_cores(self);
    say_scheduler(self);
    say_wsl(self);
    if ((int)json_array_size(self->findings) == before)
        doctor_say(self, PLACE, DOCTOR_OK, NULL,
                   "no container, no scheduler, no WSL2");
}

/* ---- memory ---------------------------------------------------------------- */

static void say_locks(struct doctor *self)
{
    enum { ENOUGH = 64 << 20 };
    struct rlimit limit;
    char bytes[24];

    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        doctor_say(self, MEMORY, DOCTOR_OK, NULL,
                   "locked memory is not limited");
    else if (limit.rlim_cur < ENOUGH)
        doctor_say(self, MEMORY, self->gpus > 0 ? DOCTOR_WARNING : DOCTOR_NOTE,
                   "ulimit -l unlimited (memlock in "
                   "/etc/security/limits.conf; docker run --ulimit memlock=-1)",
                   "only %s may be locked: pinned memory may be refused, and "
                   "copies be slower",
                   table_bytes(bytes, (double)limit.rlim_cur));
    else
        doctor_say(self, MEMORY, DOCTOR_OK, NULL, "%s may be locked",
                   table_bytes(bytes, (double)limit.rlim_cur));
}

/* NCCL wants about 9.6 MB of it for each connection of each GPU. */
static void say_shared(struct doctor *self)
{
    enum { CONNECTION = 9637888, WANTED = 8 };
    char path[1024], all[24], left[24];
    struct statvfs shm;
    double room;

    snprintf(path, sizeof path, "%s/dev/shm", self->root);
    if (statvfs(path, &shm) != 0) {
        doctor_say(self, MEMORY, DOCTOR_WARNING,
                   "mount -t tmpfs tmpfs /dev/shm",
                   "there is no shared memory (/dev/shm)");
        return;
    }
    room = (double)shm.f_bavail * (double)shm.f_frsize;
    table_bytes(left, room);
    table_bytes(all, (double)shm.f_blocks * (double)shm.f_frsize);
    if (room < WANTED * (double)CONNECTION)
        doctor_say(self, MEMORY, self->gpus > 1 ? DOCTOR_WARNING : DOCTOR_NOTE,
                   "docker run --shm-size=1g, or mount -o remount,size=1G "
                   "/dev/shm, and remove what dead programs left there",
                   "/dev/shm has %s free of %s: NCCL takes 9.6 MB a "
                   "connection",
                   left, all);
    else
        doctor_say(self, MEMORY, DOCTOR_OK, NULL, "/dev/shm has %s free of %s",
                   left, all);
}

void doctor_memory(struct doctor *self)
{
    say_locks(self);
    say_shared(self);
}
