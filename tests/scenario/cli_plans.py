"""What a plan's table and document tell: why each rank got its share under each
rule, what was asked, each rank's own quantum, times beyond counting."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
from program import ask, end, expect, expect_true, run

PAIR = "sim:0/item=1ms+sim:1/item=2ms"
WORK = "as much as it can do while the others work"
IDLE = "nothing: the others end as soon without it"

# ---- the machine: 110 + 146, the third left out; in 80 columns
DESK = ["split", "-d", "@desk", "-N", "256", "--reduce-bytes", "400000000"]
plan = ask(*DESK, "--bench-members")["plan"]
expect((plan["shares"], plan["state"]),
       ([110, 146, 0], ["active", "active", "benched"]), "desk")
expect([round(plan[key] / 1e6) for key in ("predicted_ns", "equal_ns",
                                           "best_single_ns")],
       [234, 494, 303], "desk: ms")
asked = ask(*DESK, "--rule", "manual=110/146/0")["plan"]
expect((asked["shares"], round(asked["predicted_ns"] / 1e6)),
       ([110, 146, 0], 351), "the third empty, but in the ring")
table = run(*DESK, "--bench-members").stdout.splitlines()
start = next(i for i, line in enumerate(table) if line.startswith("rank  dev"))
expect(table[start + 4:start + 7],
       ["", f"rank 0-1     {WORK}",
        "rank 2       nothing, and left out of the reduce as well"],
       "reasons below the shares")
for line in table[start:start + 10]:
    expect_true(len(line) <= 80, f"wider than 80 columns: {line}")

# ---- each rule gives its own reason
for rule, total, want in (
        ("finish", 30, [WORK, WORK]),
        ("finish", 1, [WORK, "nothing: any share would lengthen the step"]),
        ("finish", 0, ["nothing: there are no items"] * 2),
        ("equal", 30, ["as many as the others"] * 2),
        ("proportional", 30, ["in proportion to its speed"] * 2),
        ("single", 30, ["all: it is the fastest alone",
                        "nothing: another does it all"]),
        ("manual=3/1", 30, ["its part of what was asked"] * 2)):
    got = ask("split", "-d", PAIR, "-N", str(total), "--rule", rule)["plan"]
    expect(got["why"], want, f"{rule} of {total}")
many = run("split", "-d", "sim:0-2/item=1ms+sim:3/item=1s+sim:4/item=1ms",
           "-N", "200").stdout
for line in (f"\nrank 0-2, 4  {WORK}\n",
             "\nrank 3       nothing: any share would lengthen the step\n"):
    expect_true(line in many, f"ranks by their reason: {many}")
slow = ask("split", "-d", "sim:0/item=1us/link=1GB+sim:1/item=1us/link=2GB",
           "-N", "30", "--in-bytes", "1MB", "--rule", "finish",
           "--rule", "equal")["plans"]
flat = ask("split", "-d", "sim:0,1/item=1ms", "-N", "1")["plan"]
expect(flat["why"], [WORK, IDLE], "one item for two alike")
expect([why for plan in slow for why in plan["why"]],
       ["as much as its link can carry in that time"] * 2 +
       ["as many as the others"] * 2, "links under two rules")

# ---- asked beside effective
got = run("split", "-d", "sim:0,1/item=1ms", "-N", "2048", "--quantum", "128",
          "--rule", "manual=0.49/0.51").stdout
for line in ("  1024  50.00 %  49.00 %     0  ", "  1024  50.00 %  51.00 %  1024"):
    expect_true(line in got, f"lacks '{line}': {got}")
got = run("split", "-d", PAIR, "-N", "10", "--rule",
          "manual=1e308/1e308").stdout
expect(got.count("50.00 %  50.00 %"), 2, f"asked beyond counting: {got}")

# ---- quanta: a curve with dips likes 256, a line likes 1
CURVE = [[160, 30800], [192, 32600], [224, 33300], [256, 26000], [384, 37500],
         [512, 35100], [1024, 56800], [1792, 100700], [2048, 100500]]


def profile(*curves):
    return json.dumps({
        "schema": "hdp.profile", "schema_version": 1, "probe": "gemm",
        "dtype": "bf16", "compute": "f32", "ended_by": "given",
        "members": [{"key": f"SIM-{i}", "provenance": "measured",
                     "simulated": True, "points": curve}
                    for i, curve in enumerate(curves)]})


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "curves.json")
    words = ["split", "-d", "sim:0,1/item=1ms", "--profile", path, "-N", "2500",
             "--quantum", "auto"]
    with open(path, "w", encoding="utf-8") as file:
        file.write(profile(CURVE, CURVE))
    plan = ask(*words)["plan"]
    expect((plan["quantum"], "quanta" in plan), (256, False), "one quantum")
    expect_true("quantum 256\n" in run(*words).stdout, "one quantum, in words")
    with open(path, "w", encoding="utf-8") as file:
        file.write(profile(CURVE, [[1, 400], [100, 40000]]))
    plan = ask(*words)["plan"]
    expect((plan["quantum"], plan.get("quanta")), (0, [256, 1]), "quanta")
    expect(plan["shares"][0] % 256, 0, f"its own quantum: {plan['shares']}")
    table = run(*words).stdout
    expect_true("each rank with its own quantum\n" in table and
                " quantum  from " in table, f"quanta in words: {table}")
    lines = run(*words, "-o", "jsonl").stdout.splitlines()
    expect([row["quantum"] for row in map(json.loads, lines)
            if row["type"] == "rank"], [256, 1], "a row's quantum")
    expect(ask(*words, "--dtype", "bf16")["plan"], plan, "its own type")

    # ---- a profile alone: who it was measured on, and that a model made it up
    alone = words[:1] + words[3:]
    table = run(*alone).stdout
    for i in range(2):
        for line in (f"# rank {i}: SIM-{i}, simulated: times come from a model",
                     f"   {i}  SIM-{i} "):
            expect_true(f"\n{line}" in table, f"lacks '{line}': {table}")
    rows = [json.loads(line) for line in
            run(*alone, "-o", "jsonl").stdout.splitlines()]
    for row in rows:
        if row["type"] in ("profile", "member", "rank", "scaling"):
            expect((row["simulated"], row["slowdown"]),
                   (True, "simulated: times come from a model"),
                   f"{row['type']}: simulated")
    expect([row["key"] for row in rows if row["type"] == "rank"],
           ["SIM-0", "SIM-1"], "whose row it is")

# ---- times that nothing counts are not told as times
huge = run("split", "-d", PAIR, "-N", str(2**63 - 1)).stdout
for line in ("step         > 292 years predicted", "\nequal        > 292 years\n",
             "\nbest single  > 292 years\n"):
    expect_true(line in huge, f"lacks '{line.strip()}': {huge}")
end()
