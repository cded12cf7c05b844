/* The filter, and what it learns beside the level: how much one sample
 * scatters, and how far the curve can be trusted from one size to another. */
#include <math.h>
#include "core/level.h"
#include "core/logarithm.h"

static const double least_gain = 0.1;

/* A steady work's scatter, before any is seen. */
static const double least_spread = 0.02;

/* Noise never becomes less: below, the dead band of 1 % is the wider one, and
 * a work that is steady to the last bit would take its first noise for news. */
static const double least_noise = 0.01 * 0.01;

/* Five standard errors are a promise only where the error is known well: of
 * the noise, what some 200 samples say. */
static const double noise_gain = 0.01;

/* When noise begins it must not take as long: twice as much in the latest ten
 * samples is believed. One of them counts for 10 % at most. */
static const double burst_gain = 0.1, burst_most = 0.1 * 0.1;

/* Outliers: standard deviations, and what is forgiven beyond them. */
static const double far_off = 5, forgiven = 0.02;

/* Two outliers agree when they are this near: a machine that throttles is not
 * steady at once. */
static const double alike = 0.25;

/* Hiccups are counted over the latest 64 samples. */
static const double memory = 1.0 / 64;

/* A curve measured on other work bends by a few tenths of a power at most. */
static const double first_doubt = 0.25, doubt_of_own = 0.1, least_doubt = 0.02;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

void hdpi_level_start(struct hdpi_level *level, double spread)
{
    double sigma = larger(spread, least_spread);

    *level = (struct hdpi_level){ .noise = sigma * sigma,
                                  .variance = sigma * sigma / 2,
                                  .doubt = first_doubt * first_doubt };
}

void hdpi_level_moved(struct hdpi_level *level, int64_t before, int64_t after)
{
    double by = hdpi_ln((double)after / (double)before);

    level->way += by * by;
    level->variance += level->doubt * by * by;
}

void hdpi_level_trust(struct hdpi_level *level)
{
    if (level->doubt > doubt_of_own * doubt_of_own)
        level->doubt = doubt_of_own * doubt_of_own;
}

void hdpi_level_shift(struct hdpi_level *level, double log, double error)
{
    level->log += log;
    level->variance += error * error;
    level->held += log;
}

/* What one sample's noise explains of a squared residual. */
static void learn_noise(struct hdpi_level *level, double square)
{
    double part = level->count < 95 ? 1.0 / (level->count + 5) : noise_gain;
    double most = 9 * level->noise;

    level->noise += part * ((square < most ? square : most) - level->noise);
    level->burst += burst_gain * ((square < burst_most ? square : burst_most) -
                                  level->burst);
    level->noise = larger(level->noise, larger(level->burst / 2, least_noise));
}

/* The square of a residual that was expected to have `variance`. What a move
 * should have explained, and did not, is the noise's; and the reverse. */
static void learn_scatter(struct hdpi_level *level, double square,
                          double variance)
{
    double moved = level->doubt * level->way;

    if (moved > 0) {
        double clipped = square < 9 * variance ? square : 9 * variance;
        double seen = (clipped - (variance - moved)) / level->way;
        level->doubt += 0.3 * moved / variance * (seen - level->doubt);
        level->doubt = larger(level->doubt, least_doubt * least_doubt);
    }
    level->way = 0;
    learn_noise(level, square * level->noise / variance);
}

/* Outliers in a row that are no chance: as the part of hiccups to that power
 * is one in a hundred thousand or less. */
static int32_t enough(const struct hdpi_level *level)
{
    return level->alarms < 0.003 ? 2 : level->alarms < 0.02 ? 3 : 4;
}

static int32_t hold(struct hdpi_level *level, double log)
{
    double apart = far_off * sqrt(2 * level->noise) + forgiven;
    int same_side = (log > level->log) == (level->held > level->log);

    if (!same_side || fabs(log - level->held) > larger(apart, alike))
        level->holding = 0;
    else
        learn_noise(level, (log - level->held) * (log - level->held) *
                               level->holding / (level->holding + 1));
    level->held += (log - level->held) / (level->holding + 1);
    level->holding++;
    if (level->holding < enough(level))
        return HDPI_SAMPLE_HELD;
    level->log = level->held;
    level->variance = level->noise / level->holding;
    level->count++;
    level->holding = 0;
    level->way = 0;
    return HDPI_SAMPLE_CHANGED;
}

int hdpi_level_is_outlier(const struct hdpi_level *level, double log)
{
    double off = fabs(log - level->log) - forgiven;

    return off > 0 &&
           off * off > far_off * far_off * (level->noise + level->variance);
}

int32_t hdpi_level_sample(struct hdpi_level *level, double log)
{
    double off = log - level->log;
    double variance = level->noise + level->variance;

    if (hdpi_level_is_outlier(level, log))
        return hold(level, log);
    double gain = larger(least_gain, level->variance / variance);
    level->alarms += memory * ((level->holding > 0) - level->alarms);
    level->holding = 0;
    level->log += gain * off;
    level->variance =
        (1 - gain) * (1 - gain) * level->variance + gain * gain * level->noise;
    learn_scatter(level, off * off, variance);
    level->count++;
    return HDPI_SAMPLE_TAKEN;
}

double hdpi_level_factor(const struct hdpi_level *level)
{
    return hdpi_exp(level->log);
}
