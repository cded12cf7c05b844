"""run --adapt and run --dynamic: what they find on simulated members whose
truth is known, what they say of declared slowdowns, and what they refuse."""
import csv
import io
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
from program import ask, document, end, expect, expect_true, run

PAIR = "sim:0/item=10us+sim:1/item=30us"
# copies: sanitizers leave them fast
ADAPT = ["run", "--adapt", "-d", PAIR, "--work", "copy", "-N", "1024"]


def phases(steps):
    return [(p["step"], p["text"], p["optimum_ns"], p["optimum"])
            for p in steps["phases"]]


# ---- a slowdown and its end: figures by hand
got = ask(*ADAPT, "--slow", "0=2x@100", "--slow", "0=1x@200", "--check")
steps = got["steps"]
expect(len(steps["step_ns"]), 300, "steps: 100 after the last change")
expect(steps["shares"], [768, 256], "shares at first")
expect(got["plan"]["shares"], steps["shares"], "shares of the plan")
expect(steps["disturbances"],
       [{"step": 100, "device": 0, "factor": 2.0},
        {"step": 200, "device": 0, "factor": 1.0}], "disturbances")
expect(phases(steps),
       [(0, "start", 7680000, [768, 256]),
        # 1024 items at 20 and 30 us: 615 x 20 = 12,300, 409 x 30 = 12,270
        (100, "member 0 (sim:0/item=10us) 2x", 12300000, [615, 409]),
        (200, "member 0 (sim:0/item=10us) 1x", 7680000, [768, 256])], "phases")
expect(set(steps["step_ns"][:100]), {7680000}, "steps before the change")
expect(steps["step_ns"][100], 15360000, "the first slow step")
expect([steps["step_ns"][i] for i in (199, 299)], [12300000, 7680000],
       "steps at the end of each phase")
expect(steps["resplits"][-1]["shares"], [768, 256], "shares at the end")
for phase in steps["phases"]:
    expect_true(phase["steps_to_goal"] is not None and
                phase["steps_to_goal"] <= 4, f"0.97 within 4 steps: {phase}")
    expect_true(phase["resplits"] <= 3, f"3 re-splits at most: {phase}")
    expect_true(phase["lost_steps"] <= 2.5, f"2.5 steps lost: {phase}")
    expect_true(phase["efficiency"] > 0.97, f"efficiency: {phase}")
expect(sum(p["resplits"] for p in steps["phases"]), len(steps["resplits"]),
       "re-splits of all phases")
for a, b in zip(steps["resplits"], steps["resplits"][1:]):
    expect_true(a["step"] < b["step"] and a["shares"] != b["shares"],
                f"re-splits in order: {a}, {b}")
expect_true(got["check"]["ok"], "results are checked")

# ---- declared, in words, wherever anything is told
device = got["devices"][0]["slowdown"]
expect_true("simulated" in device and
            "declared slowdown: 2x the time from step 100 on, 1x the time from "
            "step 200 on" in device, f"slowdown of the device: {device}")
expect_true("declared" not in got["devices"][1]["slowdown"],
            "the other device is not slowed")
table = run(*ADAPT, "--slow", "sim:0=2x@20", "--steps", "40").stdout
expect_true("# member 0: declared slowdown: 2x the time from step 20 on" in
            table, f"the table says so: {table}")
expect_true("\nstep 0      768 256\n" in table, "shares in the table")
lines = [document(line) for line in
         run(*ADAPT, "--slow", "0=2x@20", "--steps", "40", "-o",
             "jsonl").stdout.splitlines()]
types = [line["type"] for line in lines]
expect((types.count("phase"), types.count("disturbance")), (2, 1),
       "types of the lines")
expect_true(all("declared slowdown" in line["slowdown"] for line in lines
                if line["type"] in ("phase", "steps")),
            "every line of steps says so")
rows = list(csv.DictReader(io.StringIO(
    run(*ADAPT, "--slow", "0=2x@20", "--steps", "40", "-o", "csv").stdout,
    newline="")))
expect([(r["step"], r["optimum_ns"]) for r in rows],
       [("0", "7680000"), ("20", "12300000")], "csv")

# ---- the other member, several at once, no change at all, from cold
steps = ask(*ADAPT, "--slow", "1=3x@10", "--slow", "0=3x@10", "--slow",
            "1=1x@60", "--check")["steps"]
expect([(p["step"], p["optimum"]) for p in steps["phases"]],
       [(0, [768, 256]), (10, [768, 256]), (60, [512, 512])],
       "both at once, then one")
expect(steps["phases"][1]["resplits"], 0, "both slower by one factor")
steps = ask(*ADAPT, "--steps", "50")["steps"]
expect((steps["resplits"], steps["disturbances"], len(steps["phases"])),
       ([], [], 1), "nothing happens")
steps = ask("run", "--adapt", "-d", "sim:0/item=10us/fixed=1ms+sim:1/item=10us",
            "--work", "copy", "--probe", "gemm", "-N", "1000", "--steps",
            "30")["steps"]
expect(steps["phases"][0]["steps_to_goal"], 0, "a profile that is right")
steps = ask("run", "--adapt", "-d", "@desk", "--work", "copy", "-N", "256",
            "--steps", "20")["steps"]
expect_true(steps["phases"][0]["efficiency"] > 0.97, "a machine file")

# ---- members of a machine file are slowed like those of a specification
with tempfile.TemporaryDirectory() as folder:
    machine = os.path.join(folder, "pair.json")
    run("calibrate", "-d", PAIR, "--save", machine)
    steps = ask("run", "--adapt", "-d", "@" + machine, "--work", "copy", "-N",
                "1024", "--slow", "sim:0=2x@20", "--slow", "0=1x@60",
                "--check")["steps"]
expect([p[2:] for p in phases(steps)],
       [(7680000, [768, 256]), (12300000, [615, 409]), (7680000, [768, 256])],
       "phases of a machine file")
expect([steps["step_ns"][i] for i in (19, 20, 59, 159)],
       [7680000, 15360000, 12300000, 7680000], "steps of a machine file")
got = ask("run", "--adapt", "-d", "@desk", "--work", "copy", "-N", "256",
          "--slow", "1=2x@10", "--steps", "40", "--check")
expect_true("declared slowdown: 2x" in got["devices"][1]["slowdown"],
            "slowdown of a machine's device")
ahead, behind = (got["steps"]["resplits"][-1]["shares"],
                 got["steps"]["shares"])
expect_true(ahead[1] < behind[1] and ahead[0] > behind[0] and
            ahead[2] > behind[2], f"shares move: {behind}, then {ahead}")
noisy = ask("run", "--adapt", "-d", "sim:0/item=10us/noise=3%+"
            "sim:1/item=30us/noise=3%", "--work", "copy", "-N", "128",
            "--steps", "1000")["steps"]
expect_true(len(noisy["resplits"]) <= 1, f"noise: {noisy['resplits']}")

# ---- refusals
for words, part in (
        (["--slow", "0=2x"], "expected DEVICE=FACTORx@STEP"),
        (["--slow", "=2x@1"], "expected a device"),
        (["--slow", "0=x@1"], "expected a factor"),
        (["--slow", "0=nanx@1"], "expected a number"),
        (["--slow", "0=0x@1"], "must be 0.001 to"),
        (["--slow", "0=2x@-1"], "must be"),
        (["--slow", "0=2x@1x"], "character 7"),
        (["--slow", "2=2x@1"], "no such member"),
        (["--slow", "sim:9=2x@1"], "no such member"),
        (["--slow", "0=2x@99", "--steps", "99"], "end before step 99"),
        (["--slow", "0=2x@5", "--slow", "sim:0=3x@5"], "changed twice"),
        (["--dynamic"], "one of them at a time"),
        (["--rule", "finish,equal"], "one for --adapt")):
    text = ask(*ADAPT, *words, code=2)["error"]["text"]
    expect_true(part in text, f"{words}: {text}")
for words, part in (
        (["--slow", "0=2x@5", "-d", PAIR], "--slow is for --adapt"),
        (["--dynamic", "--rule", "equal", "-d", PAIR], "none for --dynamic"),
        (["--dynamic", "--work", "empty", "-d", PAIR], "takes time"),
        (["--dynamic", "-d", "sim:0+host:0/threads=1"], "do not compare"),
        (["--adapt", "--slow", "0=0.5x@5", "-d", "host:0/threads=1"],
         "not sped up")):
    text = ask("run", *words, code=2)["error"]["text"]
    expect_true(part in text, f"{words}: {text}")

# ---- host members: what is declared happens, and is said
got = ask("run", "--adapt", "-d", "host:0/threads=1", "--work", "gemm", "-N",
          "512", "--slow", "host:0=4x@40", "--steps", "80", "--budget", "20ms")
times = got["steps"]["step_ns"]
before, after = min(times[5:40]), min(times[41:])  # of a core in other use too
expect_true(after > 2 * before, f"4x slower: {before} ns, then {after} ns")
expect_true("declared slowdown: 4x" in got["devices"][0]["slowdown"],
            "slowdown of a host member")
expect(got["devices"][0]["simulated"], False, "a host member is real")

# ---- dynamic: 1 to 0.36, ten thousand batches
got = ask("run", "--dynamic", "-d", "sim:0/item=10us+sim:1/item=27.8us",
          "--steps", "10000", "--check")
turns, placed = got["dynamic"]
expect((turns["policy"], placed["policy"]), ("round_robin", "place"),
       "policies")
expect((turns["member_batches"], sum(placed["member_batches"])),
       ([5000, 5000], 10000), "batches of the members")
expect(sum(turns["member_items"]), sum(placed["member_items"]), "all items")
expect((turns["clock"], placed["clock"]), ("model", "model"), "clock")
items = sum(placed["member_items"])
fluid = items / (1 / 10e3 + 1 / 27.8e3)
expect_true(abs(placed["lower_bound_ns"] / fluid - 1) < 1e-3,
            f"bound of lines: {placed['lower_bound_ns']}, by hand {fluid}")
expect_true(1 <= placed["ratio"] <= 1.03, f"placed: {placed['ratio']}")
expect_true(turns["ratio"] > 1.8, f"in turn: {turns['ratio']}")
again = ask("run", "--dynamic", "-d", "sim:0/item=10us+sim:1/item=27.8us",
            "--steps", "10000")["dynamic"]
expect(again[0]["makespan_ns"], turns["makespan_ns"], "the same seed")
for spec in ("@lab", "sim:0-3/item=10us/fixed=100us/noise=5%", "sim:0"):
    rows = ask("run", "--dynamic", "-d", spec, "--steps", "2000",
               "--work", "copy")["dynamic"]
    expect_true(rows[1]["ratio"] <= 1.03, f"{spec}: {rows[1]['ratio']}")
got = ask("run", "--dynamic", "-d", "host:0/threads=1+host:1/threads=1/duty=40",
          "--work", "gemm", "-N", "32", "--steps", "60", "--budget", "20ms")
expect([row["clock"] for row in got["dynamic"]], ["real", "real"], "real")
expect([sum(row["member_batches"]) for row in got["dynamic"]], [60, 60],
       "batches of real members")
expect_true("in turn" in run("run", "--dynamic", "-d", PAIR, "--steps",
                             "50").stdout, "the table")

end()
