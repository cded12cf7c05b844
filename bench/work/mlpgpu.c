/* A tile is some thousand rows: products are large enough by then, and memory
 * does not grow with the batch. */
#include "mlpgpu.h"

#include <stdlib.h>

#include "workkernels.h"

enum {
    IN = MLPNET_IN,
    HIDDEN = MLP_HIDDEN,
    OUT = MLPNET_OUT,
    W2 = MLPNET_W2,
    B2 = MLPNET_B2,
    W1 = MLPNET_W1,
    B1 = MLPNET_B1,
    TILE = 16384,
    CHUNK = 64, /* rows whose column sums one thread makes */
    BLOCKS = 15 /* of memory, at most */
};

struct mlpgpu {
    struct gpu *gpu;
    int32_t member, dtype;
    int64_t tile, set_count;
    float *weights, *velocity, *gradient, *reduced;
    void *w1, *w2; /* the weights as operands, well aligned */
    uint8_t *set_pixels, *set_labels;
    void *x, *active, *d_out, *d_hidden; /* of dtype */
    float *sums, *out_sums, *partial;
};

float *mlpgpu_gradient(const struct mlpgpu *self)
{
    return self->gradient;
}

float *mlpgpu_reduced(const struct mlpgpu *self)
{
    return self->reduced;
}

static int launch(struct mlpgpu *self, int32_t kernel, const void *args,
                  int64_t places)
{
    return gpu_launch(self->gpu, self->member, kernel, args, places);
}

/* ---- one tile ------------------------------------------------------------ */

/* Rows first and on, of images that begin again past `count`. */
struct tile {
    const hdp_view *pixels, *labels;
    int64_t first, rows, count;
    float scale; /* of the gradient: one over the shard's items */
};

static int forward(struct mlpgpu *self, const struct tile *tile)
{
    const struct hdpw_pixels pixels = {
        .target = self->x,
        .pixels = tile->pixels->data,
        .rows = tile->rows,
        .first = tile->first,
        .count = tile->count,
        .stride = tile->pixels->row_stride_bytes,
        .dtype = self->dtype,
        .width = IN,
    };
    const struct gpu_product hidden = {
        .m = (int)tile->rows,
        .n = HIDDEN,
        .k = IN,
        .a = self->x,
        .b = self->w1,
        .c = self->sums,
        .lda = IN,
        .ldb = HIDDEN,
        .ldc = HIDDEN,
        .alpha = 1,
        .dtype = self->dtype,
    };
    const struct hdpw_activate activate = {
        .target = self->active,
        .sums = self->sums,
        .bias = self->weights + mlpnet_at(B1),
        .rows = tile->rows,
        .dtype = self->dtype,
        .width = HIDDEN,
    };
    const struct gpu_product out = {
        .m = (int)tile->rows,
        .n = OUT,
        .k = HIDDEN,
        .a = self->active,
        .b = self->w2,
        .c = self->out_sums,
        .lda = HIDDEN,
        .ldb = OUT,
        .ldc = OUT,
        .alpha = 1,
        .dtype = self->dtype,
    };
    return launch(self, HDPW_PIXELS, &pixels, tile->rows * IN) &&
           gpu_multiply(self->gpu, self->member, &hidden) &&
           launch(self, HDPW_ACTIVATE, &activate, tile->rows * HIDDEN) &&
           gpu_multiply(self->gpu, self->member, &out);
}

/* A tensor's gradient: the sums of columns, in chunks of rows, then of those. */
static int add_columns(struct mlpgpu *self, const struct tile *tile, int tensor,
                       const void *source, int32_t width)
{
    int64_t chunks = (tile->rows + CHUNK - 1) / CHUNK;
    const struct hdpw_columns parts = {
        .target = self->partial,
        .source = source,
        .rows = tile->rows,
        .chunk = CHUNK,
        .factor = 1,
        .dtype = self->dtype,
        .width = width,
    };
    const struct hdpw_columns whole = {
        .target = self->gradient + mlpnet_at(tensor),
        .source = self->partial,
        .rows = chunks,
        .chunk = chunks,
        .factor = (double)tile->scale,
        .dtype = HDP_F32,
        .width = width,
        .add = tile->first > 0,
    };
    return launch(self, HDPW_COLUMNS, &parts, chunks * width) &&
           launch(self, HDPW_COLUMNS, &whole, width);
}

static int loss(struct mlpgpu *self, const struct tile *tile)
{
    const struct hdpw_loss job = {
        .target = self->d_out,
        .sums = self->out_sums,
        .bias = self->weights + mlpnet_at(B2),
        .labels = tile->labels->data,
        .rows = tile->rows,
        .first = tile->first,
        .count = tile->count,
        .stride = tile->labels->row_stride_bytes,
        .dtype = self->dtype,
        .width = OUT,
    };
    return launch(self, HDPW_LOSS, &job, tile->rows);
}

/* A tensor's gradient: transposed(left) right, added up over the tiles. */
static int add_product(struct mlpgpu *self, const struct tile *tile, int tensor,
                       const void *left, int width, const void *right,
                       int out_width)
{
    const struct gpu_product product = {
        .m = width,
        .n = out_width,
        .k = (int)tile->rows,
        .transposed_a = 1,
        .a = left,
        .b = right,
        .c = self->gradient + mlpnet_at(tensor),
        .lda = width,
        .ldb = out_width,
        .ldc = out_width,
        .alpha = tile->scale,
        .beta = tile->first > 0 ? 1.0f : 0.0f,
        .dtype = self->dtype,
    };
    return gpu_multiply(self->gpu, self->member, &product);
}

static int backward(struct mlpgpu *self, const struct tile *tile)
{
    const struct gpu_product d_hidden = {
        .m = (int)tile->rows,
        .n = HIDDEN,
        .k = OUT,
        .transposed_b = 1,
        .a = self->d_out,
        .b = self->w2,
        .c = self->sums,
        .lda = OUT,
        .ldb = OUT,
        .ldc = HIDDEN,
        .alpha = 1,
        .dtype = self->dtype,
    };
    const struct hdpw_backward masked = {
        .target = self->d_hidden,
        .sums = self->sums,
        .active = self->active,
        .rows = tile->rows,
        .dtype = self->dtype,
        .width = HIDDEN,
    };
    return add_product(self, tile, W2, self->active, HIDDEN, self->d_out,
                       OUT) &&
           add_columns(self, tile, B2, self->d_out, OUT) &&
           gpu_multiply(self->gpu, self->member, &d_hidden) &&
           launch(self, HDPW_BACKWARD, &masked, tile->rows * HIDDEN) &&
           add_columns(self, tile, B1, self->d_hidden, HIDDEN) &&
           add_product(self, tile, W1, self->x, IN, self->d_hidden, HIDDEN);
}

int mlpgpu_compute(struct mlpgpu *self, const hdp_shard *shard)
{
    const hdp_view set[2] = { { self->set_pixels, self->set_count, IN, IN },
                              { self->set_labels, self->set_count, 1, 1 } };
    int probe = shard->flags & HDP_SHARD_PROBE;
    const hdp_view *views = probe ? set : shard->inputs;
    struct tile tile = { .pixels = &views[0],
                         .labels = &views[1],
                         .count = probe ? self->set_count : shard->items,
                         .scale = 1.0f / (float)shard->items };
    int well = 1;

    for (; well && tile.first < shard->items; tile.first += tile.rows) {
        int64_t left = shard->items - tile.first;
        tile.rows = left < self->tile ? left : self->tile;
        well =
            forward(self, &tile) && loss(self, &tile) && backward(self, &tile);
    }
    return well;
}

/* ---- weights ------------------------------------------------------------- */

static int lower(struct mlpgpu *self, void *target, int tensor)
{
    const struct hdpw_lower job = {
        .target = target,
        .source = self->weights + mlpnet_at(tensor),
        .rows = 1,
        .dtype = self->dtype,
        .width = (int32_t)mlpnet_size[tensor],
    };
    return launch(self, HDPW_LOWER, &job, job.width);
}

int mlpgpu_update(struct mlpgpu *self, float rate, float momentum)
{
    const struct hdpw_update job = {
        .weights = self->weights,
        .velocity = self->velocity,
        .gradient = self->reduced,
        .count = MLPNET_PARAMETERS,
        .rate = (double)rate,
        .momentum = (double)momentum,
    };
    return launch(self, HDPW_UPDATE, &job, job.count) &&
           lower(self, self->w1, W1) && lower(self, self->w2, W2);
}

int mlpgpu_reset(struct mlpgpu *self, const float *weights)
{
    size_t bytes = MLPNET_PARAMETERS * sizeof *weights;
    float *zeros = calloc(1, bytes);
    int well =
        zeros &&
        gpu_upload(self->gpu, self->member, self->velocity, zeros, bytes) &&
        gpu_upload(self->gpu, self->member, self->weights, weights, bytes) &&
        lower(self, self->w1, W1) && lower(self, self->w2, W2) &&
        gpu_wait(self->gpu, self->member);

    free(zeros);
    return well;
}

int mlpgpu_weights(struct mlpgpu *self, float *out)
{
    return gpu_download(self->gpu, self->member, out, self->weights,
                        MLPNET_PARAMETERS * sizeof *out);
}

int mlpgpu_reduced_copy(struct mlpgpu *self, float *out)
{
    return gpu_download(self->gpu, self->member, out, self->reduced,
                        MLPNET_PARAMETERS * sizeof *out);
}

/* ---- life ---------------------------------------------------------------- */

/* Every block of device memory: where its address is kept, and its size. */
struct block {
    void **at;
    size_t bytes;
};

static void list_blocks(struct mlpgpu *self, struct block out[BLOCKS])
{
    size_t tile = (size_t)self->tile, chunks = (tile + CHUNK - 1) / CHUNK;
    size_t element =
        self->dtype == HDP_F16 || self->dtype == HDP_BF16 ? 2 : sizeof(float);
    size_t all = MLPNET_PARAMETERS * sizeof(float);
    const struct block blocks[BLOCKS] = {
        { (void **)(void *)&self->weights, all },
        { (void **)(void *)&self->velocity, all },
        { (void **)(void *)&self->gradient, all },
        { (void **)(void *)&self->reduced, all },
        { &self->w1, IN * HIDDEN * element },
        { &self->w2, HIDDEN * OUT * element },
        { (void **)(void *)&self->set_pixels, (size_t)self->set_count * IN },
        { (void **)(void *)&self->set_labels, (size_t)self->set_count },
        { &self->x, tile * IN * element },
        { &self->active, tile * HIDDEN * element },
        { &self->d_out, tile * OUT * element },
        { &self->d_hidden, tile * HIDDEN * element },
        { (void **)(void *)&self->sums, tile * HIDDEN * sizeof(float) },
        { (void **)(void *)&self->out_sums, tile * OUT * sizeof(float) },
        { (void **)(void *)&self->partial, chunks * HIDDEN * sizeof(float) },
    };
    for (int i = 0; i < BLOCKS; ++i)
        out[i] = blocks[i];
}

void mlpgpu_destroy(struct mlpgpu *self)
{
    struct block blocks[BLOCKS];

    if (!self)
        return;
    list_blocks(self, blocks);
    for (int i = 0; i < BLOCKS; ++i)
        gpu_free(self->gpu, self->member, *blocks[i].at);
    free(self);
}

struct mlpgpu *mlpgpu_create(struct gpu *gpu, int32_t member, int32_t dtype,
                             int64_t capacity, const struct mlpnet_rows *set)
{
    struct mlpgpu *self = calloc(1, sizeof *self);
    struct block blocks[BLOCKS];
    int complete = 1;

    if (!self)
        return NULL;
    self->gpu = gpu;
    self->member = member;
    self->dtype = dtype;
    self->tile = capacity < TILE ? capacity : TILE;
    self->set_count = set->count;
    list_blocks(self, blocks);
    for (int i = 0; complete && i < BLOCKS; ++i) {
        *blocks[i].at = gpu_alloc(gpu, member, blocks[i].bytes);
        complete = *blocks[i].at != NULL;
    }
    if (complete &&
        gpu_upload(gpu, member, self->set_pixels, set->pixels.data,
                   (size_t)set->count * IN) &&
        gpu_upload(gpu, member, self->set_labels, set->labels.data,
                   (size_t)set->count))
        return self;
    mlpgpu_destroy(self);
    return NULL;
}
