"""Two real members, one of which gets slower in the middle of a run: back at
0.9 of the new optimum within ten steps. Real cores have other work as well: the
best of several runs counts, and of those alone whose steps were steady where
nothing was changed."""
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
from program import FAILURES, ask, end, expect_true

RUNS, STEPS, CHANGE = 6, 60, 20


def is_steady(times):
    middle = statistics.median(times)
    return statistics.median(abs(t - middle) for t in times) < 0.1 * middle


if len(os.sched_getaffinity(0)) < 2:
    print("skipped: two cores are needed")
    sys.exit(77)

busy = False
for work in ("gemm", "mlp"):
    tried = []
    for attempt in range(RUNS):
        steps = ask("run", "--adapt", "-d", "host:0-1/threads=1", "--work",
                    work, "-N", "4096", "--slow", f"1=2x@{CHANGE}", "--steps",
                    str(STEPS))["steps"]
        phase = steps["phases"][1]
        reached, efficiency = phase["steps_to_goal"], phase["efficiency"]
        print(f"{work}: 0.9 after {reached} steps, then {efficiency}; re-splits"
              f" in {[row['step'] for row in steps['resplits']]}")
        if is_steady(steps["step_ns"][:CHANGE]) and \
                is_steady(steps["step_ns"][CHANGE + 20:]):
            tried.append((reached, efficiency))
        if reached is not None and reached <= 10 and efficiency >= 0.9:
            break
    else:
        busy = busy or not tried
        expect_true(not tried, f"{work}: expected 0.9 of the optimum within 10 "
                    f"steps, got (steps, efficiency) {tried}")

if busy and not FAILURES:
    print("skipped: the cores were busy with other work in every run")
    sys.exit(77)
end()
