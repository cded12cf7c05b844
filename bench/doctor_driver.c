/* The driver's two halves, one in the kernel and one a library, and the
 * libraries that hdp opens when it needs them. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

static const char DRIVER[] = "driver", LIBRARIES[] = "libraries";

/* ---- the driver ------------------------------------------------------------ */

/* A card that draws or computes: PCI class 03, whatever follows. */
static void count_card(struct doctor *self, const char *name)
{
    char path[320], text[32];

    snprintf(path, sizeof path, "/sys/bus/pci/devices/%.64s/vendor", name);
    if (!doctor_read(self, path, text, sizeof text) ||
        strncmp(text, "0x10de", 6) != 0)
        return;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%.64s/class", name);
    if (doctor_read(self, path, text, sizeof text) &&
        strncmp(text, "0x03", 4) == 0)
        self->cards++;
}

/* "NVRM version: NVIDIA ... Kernel Module  580.95.05  Tue ...": the first word
 * of digits and dots. */
static void module_version(const struct doctor *self, char *out, size_t size)
{
    char text[512], *at = text;

    out[0] = 0;
    if (!doctor_read(self, "/proc/driver/nvidia/version", text, sizeof text))
        return;
    for (char *word; (word = strsep(&at, " \t\n"));)
        if (isdigit((unsigned char)*word) && strchr(word, '.') &&
            strspn(word, "0123456789.") == strlen(word)) {
            snprintf(out, size, "%s", word);
            return;
        }
}

static void without_driver(struct doctor *self, const char *why)
{
    if (self->cards == 0 && !self->has_module)
        doctor_say(self, DRIVER, DOCTOR_NOTE,
                   "nothing to mend unless a GPU should be here; then put it "
                   "in, or give it to this machine, and install its driver",
                   "no GPU of NVIDIA and no driver, so host and simulated "
                   "devices only: %s",
                   why);
    else if (!self->has_module)
        doctor_say(self, DRIVER, DOCTOR_ERROR,
                   "install the driver of the distribution (Debian: apt "
                   "install nvidia-driver; Ubuntu: ubuntu-drivers install) "
                   "and reboot; in a container: install it on the host",
                   "%d GPUs of NVIDIA on the PCI bus, but no driver: %s",
                   self->cards, why);
    else
        doctor_say(self, DRIVER, DOCTOR_ERROR,
                   doctor_exists(self, "/.dockerenv")
                       ? "start the container with --gpus all (NVIDIA "
                         "Container Toolkit), which brings libcuda.so.1 in"
                       : "install the driver's library of the same version "
                         "(Debian: libcuda1), reboot if it was updated; an "
                         "older driver needs an hdp built with an older CUDA",
                   "the kernel has a driver, but CUDA cannot be used: %s", why);
}

static void say_driver(struct doctor *self)
{
    const char *note = document_note(self->topology, "cuda");
    const char *library =
        document_text(json_object_get(self->now, "telemetry"), "driver");
    char module[64];

    module_version(self, module, sizeof module);
    if (self->gpus == 0 && note) {
        without_driver(self, note);
        return;
    }
    doctor_say(self, DRIVER, DOCTOR_OK, NULL, "the driver works%s%s%s%s",
               module[0] ? "; kernel part " : "", module,
               *library ? "; libraries of " : "", library);
    if (module[0] && *library && strcmp(module, library) != 0)
        doctor_say(self, DRIVER, DOCTOR_ERROR,
                   "reboot, so that the kernel takes the version installed",
                   "the kernel has driver %s, the libraries are of %s", module,
                   library);
    if (note) /* some are there, some are left out */
        doctor_say(self, DRIVER, DOCTOR_NOTE, NULL, "%s", note);
}

static void say_toolkit(struct doctor *self)
{
    int64_t version = document_number(self->build, "cuda_version");

    if (version <= 0)
        doctor_say(self, DRIVER, DOCTOR_WARNING,
                   "build with the CUDA Toolkit: cmake -DHDP_CUDA=ON "
                   "-DCUDAToolkit_ROOT=DIR",
                   "this build has no CUDA adapter");
    else
        doctor_say(self, DRIVER, DOCTOR_OK, NULL,
                   "built for CUDA %d.%d; the toolkit is not needed to run",
                   (int)(version / 1000), (int)(version % 1000 / 10));
}

void doctor_driver(struct doctor *self)
{
    self->has_module = doctor_exists(self, "/proc/driver/nvidia/version");
    (void)doctor_list(self, "/sys/bus/pci/devices", count_card);
    say_driver(self);
    say_toolkit(self);
}

/* ---- libraries ------------------------------------------------------------- */

static void say_openblas(struct doctor *self, const json_t *library)
{
    const char *path = document_text(library, "path");
    const char *note = document_text(library, "note");

    if (*path)
        doctor_say(self, LIBRARIES, DOCTOR_OK, NULL, "OpenBLAS: %s (%s)", path,
                   note);
    else
        doctor_say(self, LIBRARIES, DOCTOR_NOTE,
                   "install a serial one (Debian: apt install "
                   "libopenblas0-serial)",
                   "OpenBLAS is not used, so host members multiply slower: %s",
                   note);
}

static void say_known(struct doctor *self)
{
    json_t *libraries = json_object_get(self->runtime, "libraries"), *library;
    const char *name;

    json_object_foreach(libraries, name, library)
    {
        if (strcmp(name, "openblas") == 0)
            say_openblas(self, library);
        else if (strcmp(name, "cuda") == 0 && *document_text(library, "path"))
            doctor_say(self, LIBRARIES, DOCTOR_OK, NULL, "CUDA: %s (%s)",
                       document_text(library, "path"),
                       document_text(library, "note"));
    }
}

/* Where a function came from; "" where that is not known. */
static const char *path_of(void *symbol)
{
    static Dl_info info;

    return symbol && dladdr(symbol, &info) && info.dli_fname ? info.dli_fname
                                                             : "";
}

/* The first of the files that opens, as the library would look for it; it
 * stays open. */
static void *open_first(const char *const *files)
{
    void *library = NULL;

    for (; !library && *files; ++files)
        library = dlopen(*files, RTLD_LAZY | RTLD_LOCAL);
    return library;
}

/* " 13.0.2"; "" where it does not tell: that needs no handle and no device. */
static const char *cublas_version(void *library, char *out, size_t size)
{
    int (*property)(int which, int *value) = NULL;
    void *symbol = dlsym(library, "cublasGetProperty");
    int parts[3] = { 0, 0, 0 };

    out[0] = 0;
    memcpy(&property, &symbol, sizeof symbol);
    for (int i = 0; property && i < 3; ++i)
        if (property(i, &parts[i]) != 0)
            return out;
    if (property)
        snprintf(out, size, " %d.%d.%d", parts[0], parts[1], parts[2]);
    return out;
}

static void say_cublas(struct doctor *self)
{
    static const char *const usual[] = { "libcublas.so.13", "libcublas.so.12",
                                         NULL };
    const char *given[] = { self->bench->options.cublas, NULL };
    char version[48];
    void *library = open_first(given[0] ? given : usual);

    if (library)
        doctor_say(self, LIBRARIES, DOCTOR_OK, NULL, "cuBLAS%s: %s",
                   cublas_version(library, version, sizeof version),
                   path_of(dlsym(library, "cublasCreate_v2")));
    else
        doctor_say(self, LIBRARIES,
                   self->gpus > 0 ? DOCTOR_WARNING : DOCTOR_NOTE,
                   "install it (pip install nvidia-cublas-cu12, or the CUDA "
                   "Toolkit's libcublas), or name it: --cublas FILE",
                   "no cuBLAS (%s), so GPUs cannot be measured by products",
                   given[0] ? given[0] : "libcublas.so.13 or .so.12");
}

static void say_nccl(struct doctor *self)
{
    static const char *const files[] = { "libnccl.so.2", NULL };
    void *library = open_first(files);
    int (*version_of)(int *out) = NULL;
    int version = 0;
    void *symbol = library ? dlsym(library, "ncclGetVersion") : NULL;

    memcpy(&version_of, &symbol, sizeof symbol);
    if (version_of && version_of(&version) == 0)
        doctor_say(self, LIBRARIES, DOCTOR_OK, NULL, "NCCL %d.%d.%d: %s",
                   version / 10000, version / 100 % 100, version % 100,
                   path_of(symbol));
    else
        doctor_say(self, LIBRARIES, DOCTOR_NOTE,
                   "nothing to do for one process; else install libnccl2",
                   "no NCCL (libnccl.so.2): reduces go through this process");
}

static void say_nvml(struct doctor *self)
{
    const json_t *telemetry = json_object_get(self->now, "telemetry");
    const char *path = document_text(telemetry, "path");

    if (*path)
        doctor_say(self, LIBRARIES, DOCTOR_OK, NULL, "NVML %s: %s",
                   document_text(telemetry, "version"), path);
    else if (telemetry)
        doctor_say(
            self, LIBRARIES, self->gpus > 0 ? DOCTOR_WARNING : DOCTOR_NOTE,
            self->gpus > 0 ? "it comes with the driver (Debian: "
                             "libnvidia-ml1); after an update of the driver: "
                             "reboot"
                           : NULL,
            "no telemetry, all else works: %s",
            document_text(telemetry, "note"));
}

void doctor_libraries(struct doctor *self)
{
    say_known(self);
    say_cublas(self);
    say_nvml(self);
    say_nccl(self);
    doctor_say(self, LIBRARIES, DOCTOR_OK, NULL, "jansson %s: %s",
               jansson_version_str(),
               path_of((void *)(uintptr_t)jansson_version_str));
}
