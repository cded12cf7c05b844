/* What the adapters share and nobody else sees: their tables, the hooks an
 * adapter gets that has nothing better, and the hooks of one that finds no
 * device. Each table names its defaults itself, so all tables are constants
 * and registration writes nothing. */
#ifndef HDPI_ADAPTER_H
#define HDPI_ADAPTER_H
#include "device/device.h"

extern const struct hdpi_device_ops hdpi_host_ops;
extern const struct hdpi_device_ops hdpi_cuda_ops;
extern const struct hdpi_device_ops hdpi_absent_cuda_ops;
extern const struct hdpi_device_ops hdpi_sim_ops;

/* The defaults promised in device.h, hook by hook. */
hdp_status hdpi_default_alloc(struct hdpi_device *device, void **out,
                              size_t bytes);
void hdpi_default_free(struct hdpi_device *device, void *memory);
hdp_status hdpi_default_copy(struct hdpi_device *device,
                             const struct hdpi_copy *copy);
void hdpi_default_pause(struct hdpi_device *device); /* also resume */
void hdpi_default_unmark(struct hdpi_device *device, struct hdpi_mark *mark);
hdp_status hdpi_default_combine(struct hdpi_device *device,
                                const struct hdpk_combine *job);
hdp_status hdpi_default_probe_open(struct hdpi_device *device,
                                   struct hdpi_probe *probe);
hdp_status hdpi_default_probe(struct hdpi_device *device,
                              const struct hdpi_probe *probe);
void hdpi_default_probe_close(struct hdpi_device *device);
void *hdpi_default_native(struct hdpi_device *device);
hdp_status hdpi_default_blas(struct hdpi_device *device, void **out);
void hdpi_default_memory(struct hdpi_device *device, int64_t *out_held,
                         int64_t *out_free);
int32_t hdpi_default_cause(struct hdpi_device *device);
void hdpi_default_idle(struct hdpi_device *device, double ns);
hdp_status hdpi_default_link(struct hdpi_topology_link *out,
                             const struct hdpi_device_row *from,
                             const struct hdpi_device_row *to,
                             const struct hdpi_site *site);
hdp_status hdpi_default_peer(struct hdpi_device *from,
                             const struct hdpi_device *to, int64_t deadline_ns,
                             struct hdpi_topology_link *out);
hdp_status hdpi_default_software(struct hdpi_device *device, char *out,
                                 size_t capacity);
void hdpi_default_forget(const struct hdpi_site *site);
int32_t hdpi_default_locate(struct hdpi_device *device, const void *memory);
hdp_status hdpi_default_order(struct hdpi_device *device, void *stream,
                              int32_t way);
hdp_status hdpi_default_apart(struct hdpi_device *device,
                              hdp_status (*fn)(void *), void *arg);

/* The required hooks of an adapter that cannot make a member: open refuses,
 * so the others are never reached and answer HDP_ERR_UNSUPPORTED. */
hdp_status hdpi_absent_open(struct hdpi_device *device);
void hdpi_absent_close(struct hdpi_device *device);
hdp_status hdpi_absent_launch(struct hdpi_device *device, hdp_work_fn fn,
                              const hdp_shard *shard, void *user,
                              int32_t *out_code);
hdp_status hdpi_absent_mark(struct hdpi_device *device, struct hdpi_mark *mark,
                            int32_t purpose);
hdp_status hdpi_absent_elapsed(struct hdpi_device *device, double *out_ns,
                               const struct hdpi_mark *from,
                               const struct hdpi_mark *to);
hdp_status hdpi_absent_wait(struct hdpi_device *device, int64_t deadline_ns);

/** First ask of that kind, NULL when there is none. */
const struct hdpi_ask *hdpi_ask_first(const struct hdpi_ask *asks,
                                      int32_t count, int32_t kind);

/** HDP_ERR_NOT_FOUND "no device: cuda:0: REASON" for the ask. */
hdp_status hdpi_ask_refuse(const struct hdpi_ask *ask, const char *adapter,
                           const char *reason);
#endif
