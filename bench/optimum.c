/* The best split over measured curves, by dynamic programming: a second method
 * beside the library's search for the finish time, sharing no code with it. */
#include "optimum.h"

#include <float.h>
#include <stdlib.h>

enum { BLOCKS_MAX = 4096 };

void curve_smooth(struct curve *curve)
{
    int size[OPTIMUM_POINTS_MAX], blocks = 0;
    double mean[OPTIMUM_POINTS_MAX];

    for (int i = 0; i < curve->count; ++i) {
        mean[blocks] = curve->ns[i];
        size[blocks++] = 1;
        while (blocks > 1 && mean[blocks - 2] > mean[blocks - 1]) {
            int left = size[blocks - 2], right = size[blocks - 1];
            mean[blocks - 2] =
                (mean[blocks - 2] * left + mean[blocks - 1] * right) /
                (left + right);
            size[blocks - 2] += right;
            --blocks;
        }
    }
    for (int block = 0, i = 0; block < blocks; ++block)
        for (int end = i + size[block]; i < end; ++i)
            curve->ns[i] = mean[block];
}

double curve_time(const struct curve *curve, int64_t items)
{
    int last = curve->count - 1, i = 1;

    if (items <= 0)
        return 0;
    if (last < 0)
        return DBL_MAX;
    if (items <= curve->items[0])
        return curve->ns[0] * ((double)items / (double)curve->items[0]);
    if (items >= curve->items[last])
        return curve->ns[last] * ((double)items / (double)curve->items[last]);
    while (curve->items[i] < items)
        ++i;
    double x0 = (double)curve->items[i - 1], x1 = (double)curve->items[i];
    double slope = (curve->ns[i] - curve->ns[i - 1]) / (x1 - x0);
    return curve->ns[i - 1] + slope * ((double)items - x0);
}

static double slowest(const struct curve *curves, int members,
                      const int64_t *items)
{
    double worst = 0;

    for (int m = 0; m < members; ++m) {
        double ns = curve_time(&curves[m], items[m]);
        worst = ns > worst ? ns : worst;
    }
    return worst;
}

/* Moves one quantum from the slowest member to any other while that helps. */
static double refine(const struct curve *curves, int members, int64_t quantum,
                     int64_t *items)
{
    double best = slowest(curves, members, items);

    for (int moved = 1; moved;) {
        moved = 0;
        for (int from = 0; from < members && !moved; ++from) {
            if (items[from] < quantum ||
                curve_time(&curves[from], items[from]) < best)
                continue;
            for (int to = 0; to < members && !moved; ++to) {
                if (to == from)
                    continue;
                items[from] -= quantum;
                items[to] += quantum;
                double now = slowest(curves, members, items);
                if (now < best) {
                    best = now;
                    moved = 1;
                } else {
                    items[from] += quantum;
                    items[to] -= quantum;
                }
            }
        }
    }
    return best;
}

/* best[b]: least time with which the members so far can do b blocks;
 * took[m * (blocks + 1) + b]: how many of them member m does. */
static void solve(const struct curve *curves, int members, int blocks,
                  int64_t block, double *best, int *took)
{
    double *next = best + blocks + 1, *own = next + blocks + 1;

    for (int b = 0; b <= blocks; ++b) {
        best[b] = curve_time(&curves[0], b * block);
        took[b] = b;
    }
    for (int m = 1; m < members; ++m) {
        int *mine = took + (size_t)m * (size_t)(blocks + 1);
        for (int b = 0; b <= blocks; ++b)
            own[b] = curve_time(&curves[m], b * block);
        for (int b = 0; b <= blocks; ++b) {
            next[b] = DBL_MAX;
            mine[b] = 0;
            for (int x = 0; x <= b; ++x) {
                double rest = best[b - x];
                double worst = own[x] > rest ? own[x] : rest;
                if (worst < next[b]) {
                    next[b] = worst;
                    mine[b] = x;
                }
            }
        }
        for (int b = 0; b <= blocks; ++b)
            best[b] = next[b];
    }
}

double optimum_find(const struct curve *curves, int members, int64_t total,
                    int64_t quantum, int64_t *out_items)
{
    int64_t block = quantum > 0 ? quantum : 1;
    double result = -1;

    while (total / block > BLOCKS_MAX)
        block *= 2;
    int blocks = (int)((total + block - 1) / block);
    size_t width = (size_t)blocks + 1;
    double *best = malloc(3 * width * sizeof *best);
    int *took = malloc(width * (size_t)members * sizeof *took);
    int64_t *items = malloc((size_t)members * sizeof *items);
    if (!best || !took || !items)
        goto out;

    solve(curves, members, blocks, block, best, took);
    int64_t left = blocks, spare = (int64_t)blocks * block - total;
    for (int m = members - 1; m >= 0; --m) {
        int x = took[(size_t)m * width + (size_t)left];
        left -= x;
        items[m] = x * block;
        if (x > 0 && spare > 0) { /* the short block lies at the end */
            items[m] -= spare;
            spare = 0;
        }
    }
    result = refine(curves, members, quantum > 0 ? quantum : 1, items);
    for (int m = 0; out_items && m < members; ++m)
        out_items[m] = items[m];
out:
    free(best);
    free(took);
    free(items);
    return result;
}
