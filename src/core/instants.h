/* Inner side of the split: the finish time where nothing but its own maximum
 * limits a rank, which is the usual case and the one that must be quick. */
#ifndef HDPI_INSTANTS_H
#define HDPI_INSTANTS_H
#include "core/reach.h"

/**
 * Gives out all blocks of `search` by the least time at which they, and the
 * rest beside them, are held.
 *
 * For ranks without minimums, shared memory or quanta of their own. Time
 * O(ranks) for each of three passes, as a rule; no allocation; stack below
 * 5 KiB.
 *
 * @param search  Its last is set to the rank that bears the rest, if there is
 *                one. in->items receives the blocks of each.
 * @param guess   A time near the one sought, and how fast blocks come then.
 * @param level   Receives the time found.
 * @return 1; 0 when it was not found: all cannot be held, or more ranks' blocks
 *         end at once, or off the guess, than are worth following. in->items
 *         is scratch then.
 */
int hdpi_instants_finish(struct hdpi_search *search,
                         const struct hdpi_guess *guess, double *level);
#endif
