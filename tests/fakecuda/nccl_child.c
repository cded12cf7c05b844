/* Communicators that come of others: split by colour, or shrunk to those that
 * are left. A family is complete when each rank that has a part in it came. */
#include <stdlib.h>
#include <string.h>
#include "nccl_inner.h"

/* ---- a family ------------------------------------------------------------- */

static struct fake_nccl_family *family_of(struct fake_nccl_clique *clique,
                                          int64_t number)
{
    struct fake_nccl_family *family;

    for (family = clique->families; family; family = family->next)
        if (family->number == number)
            return family;
    family = calloc(1, sizeof *family);
    if (!family)
        abort();
    family->number = number;
    family->rows = calloc((size_t)clique->ranks, sizeof family->rows[0]);
    family->children = calloc((size_t)clique->ranks, sizeof(ncclComm_t));
    if (!family->rows || !family->children)
        abort();
    family->next = clique->families;
    clique->families = family;
    return family;
}

static int is_left_out(const struct fake_nccl_init *init, int rank)
{
    return init->maker == FAKE_NCCL_SHRINK && (init->without >> rank & 1) != 0;
}

static int expected(const struct fake_nccl_init *init)
{
    int ranks = init->parent->clique->ranks, count = 0;

    for (int r = 0; r < ranks; r++)
        count += !is_left_out(init, r);
    return count;
}

static void compare(const struct fake_nccl_family *family,
                    const struct fake_nccl_init *init)
{
    for (int r = 0; r < init->parent->clique->ranks; r++) {
        const struct fake_nccl_init *other = &family->rows[r];
        if (other->out &&
            (other->maker != init->maker || other->without != init->without))
            fake_break("%s: rank %d and rank %d want other communicators",
                       init->function, init->parent->rank, r);
    }
}

/* ---- its children --------------------------------------------------------- */

/* Those of one colour, in order of key and then of rank. */
static int sort(int *out, const struct fake_nccl_family *family, int ranks,
                int color)
{
    int count = 0;

    for (int r = 0; r < ranks; r++) {
        int at = count;
        if (!family->rows[r].out || family->rows[r].color != color)
            continue;
        while (at > 0 && family->rows[out[at - 1]].key > family->rows[r].key) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = r;
        count++;
    }
    return count;
}

static int is_first(const struct fake_nccl_family *family, int rank)
{
    for (int r = 0; r < rank; r++)
        if (family->rows[r].out &&
            family->rows[r].color == family->rows[rank].color)
            return 0;
    return family->rows[rank].out && family->rows[rank].color >= 0;
}

static ncclResult_t bear_color(struct fake_nccl_family *family, int ranks,
                               int color)
{
    int order[FAKE_NCCL_RANKS_MAX];
    int count = sort(order, family, ranks, color);
    struct fake_nccl_clique *clique = fake_nccl_clique_new(count);

    for (int i = 0; i < count; i++) {
        const struct fake_nccl_init *row = &family->rows[order[i]];
        ncclComm_t made =
            fake_nccl_new(row->parent->handle.device, row->child_blocking);
        if (!made)
            return ncclUnhandledCudaError;
        fake_nccl_join(made, clique, i);
        family->children[order[i]] = made;
    }
    return clique->result;
}

static void complete(struct fake_nccl_family *family, int ranks)
{
    for (int r = 0; r < ranks && family->result == ncclSuccess; r++)
        if (is_first(family, r))
            family->result = bear_color(family, ranks, family->rows[r].color);
    for (int r = 0; r < ranks && family->result != ncclSuccess; r++)
        if (family->children[r]) {
            fake_nccl_free(family->children[r]);
            family->children[r] = NULL;
        }
    family->made = 1;
    pthread_cond_broadcast(&fake.moved);
}

void fake_nccl_bear(struct fake_nccl_init *init)
{
    ncclComm_t parent = init->parent;
    struct fake_nccl_family *family =
        family_of(parent->clique, parent->families++);

    compare(family, init);
    if (init->force) {
        fake_nccl_stop(parent);
        parent->end = FAKE_NCCL_STOPPED;
    }
    init->family = family;
    parent->family = family;
    family->rows[parent->rank] = *init;
    if (++family->come == expected(init))
        complete(family, parent->clique->ranks);
}

void fake_nccl_desert(ncclComm_t parent)
{
    struct fake_nccl_family *family = parent->family;
    ncclComm_t *child = &family->children[parent->rank];

    parent->family = NULL;
    if (!family->made) { /* the others wait in vain */
        family->rows[parent->rank].out = NULL;
        family->come--;
    } else if (*child) { /* nobody was told of it */
        fake_nccl_free(*child);
        *child = NULL;
    }
}

/* ---- calls ---------------------------------------------------------------- */

FAKE_API ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key,
                                    ncclComm_t *newcomm, ncclConfig_t *config)
{
    struct fake_nccl_init init = { .maker = FAKE_NCCL_SPLIT,
                                   .function = "ncclCommSplit",
                                   .out = newcomm,
                                   .parent = comm,
                                   .color = color,
                                   .key = key };
    ncclResult_t code;

    NCCL_ENTER(init.function, ncclSystemError, 0, NCCL_VERSION(2, 18, 0));
    NCCL_CHECK(init.function, comm, FAKE_NCCL_CUDA);
    if (!newcomm || color < NCCL_SPLIT_NOCOLOR)
        NCCL_LEAVE(fake_nccl_say(ncclInvalidArgument, "%s: color %d",
                                 init.function, color));
    code = fake_nccl_config(config, comm->blocking, &init.child_blocking);
    if (code != ncclSuccess)
        NCCL_LEAVE(code);
    init.blocking = comm->blocking;
    NCCL_LEAVE(fake_nccl_ask_init(&init));
}

/* Ranks to leave out: others than the caller's, each once. */
static int read_list(uint64_t *out, const struct ncclComm *comm,
                     const int *ranks, int count)
{
    *out = 0;
    if (!ranks || count < 1 || count >= comm->clique->ranks)
        return 0;
    for (int i = 0; i < count; i++) {
        if (ranks[i] < 0 || ranks[i] >= comm->clique->ranks ||
            ranks[i] == comm->rank || *out >> ranks[i] & 1)
            return 0;
        *out |= UINT64_C(1) << ranks[i];
    }
    return 1;
}

FAKE_API ncclResult_t ncclCommShrink(ncclComm_t comm, int *excludeRanksList,
                                     int excludeRanksCount, ncclComm_t *newcomm,
                                     ncclConfig_t *config, int shrinkFlags)
{
    struct fake_nccl_init init = { .maker = FAKE_NCCL_SHRINK,
                                   .function = "ncclCommShrink",
                                   .out = newcomm,
                                   .parent = comm };
    ncclResult_t code;

    NCCL_ENTER(init.function, ncclSystemError, 0, NCCL_VERSION(2, 27, 0));
    NCCL_CHECK(init.function, comm, FAKE_NCCL_CUDA);
    if (!newcomm || (shrinkFlags & ~NCCL_SHRINK_ABORT) != 0 ||
        !read_list(&init.without, comm, excludeRanksList, excludeRanksCount))
        NCCL_LEAVE(fake_nccl_say(ncclInvalidArgument, "%s: an argument",
                                 init.function));
    code = fake_nccl_config(config, comm->blocking, &init.child_blocking);
    if (code != ncclSuccess)
        NCCL_LEAVE(code);
    init.blocking = comm->blocking;
    init.force = (shrinkFlags & NCCL_SHRINK_ABORT) != 0;
    NCCL_LEAVE(fake_nccl_ask_init(&init));
}

NCCL_ALIAS(ncclCommSplit);
NCCL_ALIAS(ncclCommShrink);
