/* Communicators are made: ranks come together by a unique id. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nccl_inner.h"

enum { INIT_NS = 250000000 };

static const unsigned magic = 0xcafebeef;

static struct {
    int generation; /* of the process whose they are */
    struct fake_nccl_clique *first;
} cliques;

/* ---- cliques -------------------------------------------------------------- */

static void forget(struct fake_nccl_clique *clique)
{
    while (clique->families) {
        struct fake_nccl_family *family = clique->families;
        clique->families = family->next;
        free(family->rows);
        free(family->children);
        free(family);
    }
    free(clique->members);
    free(clique);
}

static void refresh(void)
{
    int generation = atomic_load(&fake.generation);

    if (cliques.generation == generation)
        return;
    cliques.generation = generation;
    while (cliques.first) {
        struct fake_nccl_clique *clique = cliques.first;
        cliques.first = clique->next;
        forget(clique);
    }
}

struct fake_nccl_clique *fake_nccl_clique_new(int ranks)
{
    struct fake_nccl_clique *clique = calloc(1, sizeof *clique);

    refresh();
    if (!clique)
        abort();
    clique->ranks = ranks;
    clique->members = calloc((size_t)ranks, sizeof(ncclComm_t));
    if (!clique->members)
        abort();
    clique->next = cliques.first;
    cliques.first = clique;
    return clique;
}

static struct fake_nccl_clique *clique_of(const struct fake_nccl_init *init)
{
    struct fake_nccl_clique *clique;

    refresh();
    for (clique = cliques.first; clique; clique = clique->next)
        if (memcmp(&clique->id, &init->id, sizeof init->id) == 0)
            return clique;
    clique = fake_nccl_clique_new(init->ranks);
    clique->id = init->id;
    return clique;
}

/* ---- making --------------------------------------------------------------- */

static ncclResult_t come(struct fake_nccl_init *init)
{
    struct fake_nccl_clique *clique = clique_of(init);
    CUcontext context;

    if (clique->made) {
        fake_break("%s: a unique id was used twice", init->function);
        return fake_nccl_say(ncclInvalidUsage, "a unique id was used twice");
    }
    if (clique->ranks != init->ranks || clique->members[init->rank]) {
        fake_break("%s: rank %d of %d, where there are %d ranks%s",
                   init->function, init->rank, init->ranks, clique->ranks,
                   clique->ranks == init->ranks ? " and it has come" : "");
        return fake_nccl_say(ncclInvalidArgument, "rank %d of %d", init->rank,
                             init->ranks);
    }
    if (fake_primary(init->device, &context) != 0)
        return fake_nccl_say(ncclUnhandledCudaError, "no context");
    if (init->blocking)
        init->comm = fake_nccl_new(init->device, 1);
    if (!init->comm)
        return ncclUnhandledCudaError;
    if (!init->comm->handle.alive)
        return fake_nccl_say(ncclInvalidArgument, "aborted meanwhile");
    fake_nccl_join(init->comm, clique, init->rank);
    return ncclSuccess;
}

/* What has come so far goes again; those that the caller has by now are his to
 * abort. */
static void undo(struct fake_nccl_init *inits, int count)
{
    for (int i = 0; i < count; i++)
        if (inits[i].comm && inits[i].blocking) {
            fake_nccl_free(inits[i].comm);
            *inits[i].out = NULL;
        }
}

static ncclResult_t await(struct fake_nccl_init *init)
{
    ncclComm_t comm = init->comm;
    ncclResult_t code;

    if (init->maker != FAKE_NCCL_INIT) {
        code = fake_nccl_wait(init->parent, &init->family->made);
        *init->out = NULL;
        if (!init->parent->family) /* aborted meanwhile */
            return ncclInternalError;
        if (code != ncclSuccess) {
            fake_nccl_desert(init->parent);
            return code;
        }
        init->parent->family = NULL;
        *init->out = init->family->children[init->parent->rank];
        return init->family->result;
    }
    code = fake_nccl_wait(comm, &comm->clique->made);
    if (code == ncclSuccess)
        code = comm->clique->result;
    if (code != ncclSuccess)
        fake_nccl_free(comm);
    *init->out = code == ncclSuccess ? comm : NULL;
    return code;
}

static void postpone(const struct fake_nccl_init *init)
{
    if (init->maker == FAKE_NCCL_INIT)
        return;
    *init->out = NULL;
    init->parent->child = init->out;
    fake_nccl_begin(init->parent);
}

ncclResult_t fake_nccl_make(struct fake_nccl_init *inits, int count)
{
    ncclResult_t code = ncclSuccess;

    for (int i = 0; i < count && code == ncclSuccess; i++)
        if (inits[i].maker == FAKE_NCCL_INIT)
            code = come(&inits[i]);
        else
            fake_nccl_bear(&inits[i]);
    if (code != ncclSuccess) {
        undo(inits, count);
        return code;
    }
    fake_host_reach(fake_host_ns() + INIT_NS);
    if (!inits[0].blocking) {
        for (int i = 0; i < count; i++)
            postpone(&inits[i]);
        return ncclInProgress;
    }
    for (int i = 0; i < count; i++) {
        ncclResult_t one = await(&inits[i]);
        code = code == ncclSuccess ? one : code;
    }
    return code;
}

ncclResult_t fake_nccl_config(const ncclConfig_t *config, int inherited,
                              int *blocking)
{
    const int none = NCCL_CONFIG_UNDEF_INT;

    *blocking = inherited;
    if (!config)
        return ncclSuccess;
    if (config->magic != magic)
        return fake_nccl_say(ncclInvalidArgument,
                             "a configuration without its initializer");
    *blocking = config->blocking == none ? 1 : config->blocking;
    if ((*blocking != 0 && *blocking != 1) ||
        (config->minCTAs != none && config->minCTAs <= 0) ||
        (config->maxCTAs != none && config->maxCTAs <= 0) ||
        (config->minCTAs != none && config->maxCTAs != none &&
         config->minCTAs > config->maxCTAs))
        return fake_nccl_say(ncclInvalidArgument, "a value in a configuration");
    return ncclSuccess;
}

/* ---- calls ---------------------------------------------------------------- */

static ncclResult_t init_rank(const char *function, int since,
                              struct fake_nccl_init *init,
                              const ncclConfig_t *config)
{
    static const ncclUniqueId none;
    ncclResult_t code;

    NCCL_ENTER(function, ncclSystemError, FAKE_CONTEXT, since);
    if (!init->out || init->ranks < 1 || init->ranks > FAKE_NCCL_RANKS_MAX ||
        init->rank < 0 || init->rank >= init->ranks ||
        memcmp(&init->id, &none, sizeof none) == 0)
        NCCL_LEAVE(
            fake_nccl_say(ncclInvalidArgument, "%s: an argument", function));
    code = fake_nccl_config(config, 1, &init->blocking);
    if (code != ncclSuccess)
        NCCL_LEAVE(code);
    init->function = function;
    init->child_blocking = init->blocking;
    init->device = fake_current_device();
    if (!init->blocking) { /* to be polled, whatever becomes of it */
        init->comm = fake_nccl_new(init->device, 0);
        if (!init->comm)
            NCCL_LEAVE(ncclUnhandledCudaError);
        fake_nccl_begin(init->comm);
        *init->out = init->comm;
    }
    NCCL_LEAVE(fake_nccl_ask_init(init));
}

FAKE_API ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks,
                                       ncclUniqueId commId, int rank)
{
    struct fake_nccl_init init = {
        .out = comm, .id = commId, .ranks = nranks, .rank = rank
    };

    return init_rank("ncclCommInitRank", 0, &init, NULL);
}

FAKE_API ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks,
                                             ncclUniqueId commId, int rank,
                                             ncclConfig_t *config)
{
    struct fake_nccl_init init = {
        .out = comm, .id = commId, .ranks = nranks, .rank = rank
    };

    return init_rank("ncclCommInitRankConfig", NCCL_VERSION(2, 14, 0), &init,
                     config);
}

static ncclResult_t check_list(int count, const int *devices)
{
    uint64_t seen = 0;

    for (int i = 0; i < count; i++) {
        int ordinal = devices ? devices[i] : i;
        if (!fake_device(ordinal))
            return fake_nccl_say(ncclUnhandledCudaError, "no device %d",
                                 ordinal);
        if (seen >> ordinal & 1)
            return fake_nccl_say(ncclInvalidUsage, "device %d is there twice",
                                 ordinal);
        seen |= UINT64_C(1) << ordinal;
    }
    return ncclSuccess;
}

FAKE_API ncclResult_t ncclCommInitAll(ncclComm_t *comm, int ndev,
                                      const int *devlist)
{
    struct fake_nccl_init init = { .function = "ncclCommInitAll",
                                   .blocking = 1,
                                   .child_blocking = 1,
                                   .ranks = ndev };
    ncclResult_t code;

    NCCL_ENTER(init.function, ncclSystemError, FAKE_CONTEXT, 0);
    if (!comm || ndev < 1 || ndev > FAKE_NCCL_RANKS_MAX)
        NCCL_LEAVE(fake_nccl_say(ncclInvalidArgument, "%s: an argument",
                                 init.function));
    code = check_list(ndev, devlist);
    if (code != ncclSuccess)
        NCCL_LEAVE(code);
    fake_nccl_new_id(&init.id);
    fake_nccl_window_open();
    for (int i = 0; i < ndev; i++) {
        init.out = &comm[i];
        init.rank = i;
        init.device = fake_device(devlist ? devlist[i] : i);
        (void)fake_nccl_ask_init(&init);
    }
    NCCL_LEAVE(fake_nccl_window_close());
}

NCCL_ALIAS(ncclCommInitRank);
NCCL_ALIAS(ncclCommInitRankConfig);
NCCL_ALIAS(ncclCommInitAll);
