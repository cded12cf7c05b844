"""Plans for machines that are elsewhere: each shipped one by name and by file,
and one that the tool itself has recorded."""
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "cli"))
from program import SOURCE, ask, end, expect, expect_true, run

FOLDER = os.path.join(SOURCE, "examples", "machines")
NAMES = ["desk", "turing", "twin", "laptop", "lab"]
COUNTS = {"desk": 3, "turing": 2, "twin": 2, "laptop": 1, "lab": 3}

# ---- split explains every member of every machine
for name in NAMES:
    path = os.path.join(FOLDER, f"{name}.json")
    for spec in (f"@{name}", f"@{os.path.abspath(path)}"):
        got = ask("split", "-d", spec, "-N", "256")
        plan = got.get("plan", {})
        count = COUNTS[name]
        expect(sum(plan.get("shares", [])), 256, f"{spec}: shares")
        expect(len(plan.get("why", [])), count, f"{spec}: reasons")
        expect_true(all(plan.get("why", [""])), f"{spec}: an empty reason")
        expect([d["simulated"] for d in got["devices"]], [True] * count,
               f"{spec}: simulated")
        expect_true(plan["predicted_ns"] <= plan["equal_ns"] and
                    plan["predicted_ns"] <= plan["best_single_ns"],
                    f"{spec}: slower than equal or single")
        table = run("split", "-d", spec, "-N", "256")
        expect(table.returncode, 0, f"{spec}: exit code of the table")

# ---- desk, without a bench: 325 ms with all three, 494 ms shared equally
plan = ask("split", "-d", "@desk", "-N", "256",
           "--reduce-bytes", "400000000")["plan"]
expect(round(plan["predicted_ns"] / 1e6), 325, "desk, all three, ms")
expect(round(plan["equal_ns"] / 1e6), 494, "desk, equal, ms")

# ---- the table names cards, and says why shares cannot be equal
table = run("split", "-d", "@desk", "-N", "256", "--dtype", "bf16").stdout
expect_true("  2  sim:2 NVIDIA GeForce GTX 1080 Ti " in table, table)
expect_true("equal        not possible: rank 2 cannot compute this type\n" in
            table, table)
table = run("split", "-d", "sim:0/mem=1GiB+sim:1/mem=4GiB", "-N", "30",
            "--item-bytes", "100MiB").stdout
expect_true("equal        not possible: rank 0 holds no more in its memory\n"
            in table, table)
table = run("split", "-d", "sim:0/mem=1GiB+sim:1/mem=1GiB", "-N", "20",
            "--item-bytes", "100MiB").stdout
expect_true("best single  no device holds it alone\n" in table, table)

# ---- would that card help? As if one had it, and as if one had not
BASE = "sim:0/fixed=500us/item=10us+sim:1/fixed=1.5ms/item=50us"
EXTRA = "sim:2/item=30us"
got = ask("split", "-d", BASE, "-N", "256", "--add", EXTRA)
joined = ask("split", "-d", f"{BASE}+{EXTRA}", "-N", "256")["plan"]
expect(got["plan"]["predicted_ns"], 2800000, "the plan that is")
for key in ("shares", "predicted_ns", "equal_ns", "best_single_ns", "state"):
    expect(got["what_if"]["plan"][key], joined[key], f"with one more: {key}")
expect((got["what_if"]["before_ns"], got["what_if"]["after_ns"]),
       (2800000, joined["predicted_ns"]), "before and after")
expect([d["spec"] for d in got["what_if"]["added"]], ["sim:2/item=30us"],
       "what was added")
expect(ask("split", "-d", BASE, "-N", "256", "--remove", "1")["what_if"]
       ["after_ns"], 3060000, "with the first alone")
swapped = ask("split", "-d", BASE, "-N", "256", "--remove", "1", "--add",
              "sim:1/item=10us/fixed=500us")["what_if"]
expect(swapped["plan"]["shares"], [128, 128], "two alike")
slow = ask("split", "-d", BASE, "-N", "256", "--add", "sim:0/item=1s")
expect(slow["what_if"]["speedup"], 1.0, "a card that does not help")
expect_true("no gain" in slow["what_if"]["answer"] and "0 of 256 items" in
            slow["what_if"]["answer"], slow["what_if"]["answer"])
# the third card of desk is in the way of a large reduce: 234 ms without it
less = ask("split", "-d", "@desk", "-N", "256", "--reduce-bytes", "400000000",
           "--remove", "2")["what_if"]
expect(round(less["after_ns"] / 1e6), 234, "desk without the third, ms")
expect(round(less["before_ns"] / 1e6), 325, "desk with it, ms")
table = run("split", "-d", "@desk", "-N", "256", "--reduce-bytes", "400000000",
            "--remove", "2").stdout
expect(table.splitlines()[-1], less["answer"], "the answer in one line")
# a host, and a card that it might have: one is measured, one is not
mixed = ask("split", "-d", "host:0/threads=1", "-N", "256", "--add",
            "sim:0/item=1us", "--budget", "50ms")["what_if"]
expect(mixed["simulated"], True, "an answer that a model gave")
expect(ask("split", "-d", "sim:0/item=1us/mem=1GiB+sim:1/item=1us/mem=1GiB",
           "-N", "256", "--item-bytes", "8MiB", "--remove", "0")["what_if"]
       ["after_ns"], None, "what does not fit any more")
for words, part in ((["--remove", "3"], "0 to 2"), (["--remove", "-1"], "-1"),
                    (["--remove", "0", "--remove", "1", "--remove", "2"],
                     "no member is left"), (["--add", ""], "no device"),
                    (["--add", "sim:0/bogus=1"], "bogus"),
                    (["--add", "sim:3", "--rule", "manual=1/1/1"], "ratios")):
    got = ask("split", "-d", "@desk", "-N", "256", *words, code=2)
    expect_true(part in got["error"]["text"],
                f"{words}: {got['error']['text']} lacks '{part}'")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "profile.json")
    ask("calibrate", "-d", BASE, "--save", path)
    expect(ask("split", "--profile", path, "-N", "256", "--add", EXTRA)
           ["what_if"]["after_ns"], joined["predicted_ns"],
           "beside a saved profile")
    ask("calibrate", "-d", BASE, "--probe", "work", "--save", path)
    got = ask("split", "--profile", path, "-N", "256", "--add", EXTRA, code=2)
    expect_true("work" in got["error"]["text"], f"a work: {got['error']}")

# ---- what does not exist
for spec, words in (("@dusk", "desk, turing, twin, laptop, lab"),
                    ("@./no-such.json", "no such file")):
    got = ask("split", "-d", spec, "-N", "256", code=3)
    expect_true(words in json.dumps(got["error"]), f"{spec}: {got['error']}")

# ---- discover lists a described machine
got = ask("discover", "--machine", "@twin")
expect([d["name"] for d in got["devices"]], ["NVIDIA GeForce RTX 4090"] * 2,
       "names of twin")
expect([d["sms"] for d in got["devices"]], [128, 128], "SMs of twin")

# ---- with links between them, and all names that a card has
got = ask("discover", "--machine", "@lab")
expect([(link["from"], link["to"]) for link in got["links"] if link["peer"]],
       [(0, 1), (1, 0)], "who reaches whose memory")
expect({link["bytes_per_second"] for link in got["links"]},
       {22000000000, 11000000000}, "rates of links")
table = run("discover", "--machine", "@lab").stdout
for device in got["devices"]:
    expect_true(f" {device['logical_id']}  {device['uuid']}  {device['pci']}\n"
                in table, f"identities: {table}")
expect_true("   0       -   22.0*    11.0\n   1   22.0*       -    11.0\n"
            "   2    11.0    11.0       -\n" in table, f"links: {table}")
expect_true("links" not in ask("discover", "--machine", "sim:0-1"),
            "links of devices of which nothing is known")

# a plain path is a file, also without a folder in it
desk = ask("discover", "--machine", "@desk")["devices"]
for path, folder in (("desk.json", FOLDER), ("./desk.json", FOLDER),
                     ("machines/desk.json", os.path.join(FOLDER, "..")),
                     ("../machines/desk.json", FOLDER),
                     (os.path.abspath(os.path.join(FOLDER, "desk.json")), "/")):
    expect(ask("discover", "--machine", path, cwd=folder)["devices"], desk,
           f"--machine {path}")
gone = ask("discover", "--machine", "gone.json", code=3)
expect_true("gone.json" in gone["error"]["text"], f"gone: {gone['error']}")
spec = ask("discover", "--machine", "sim:0/item=1us/mem=1GiB+sim:1/item=2us")
expect(len(spec["devices"]), 2, "a specification with '/' inside")

# ---- machines and devices side by side
joined = ask("split", "-d", "@desk", "-N", "256", "--add", "sim:3/item=50us")
expect(len(joined["what_if"]["plan"]["shares"]), 4, "desk and one more")
expect_true(joined["what_if"]["after_ns"] < joined["what_if"]["before_ns"],
            f"a fast card helps: {joined['what_if']['answer']}")
expect_true("sim:3/item=50us" in joined["what_if"]["answer"],
            joined["what_if"]["answer"])
for base, more, count in (("@desk", "@lab", 6), ("@desk", "@desk", 6),
                          ("sim:9/item=1ms", "@twin", 3)):
    got = ask("split", "-d", base, "-N", "256", "--add", more)["what_if"]
    expect(len(got["plan"]["shares"]), count, f"{base} and {more}")
    expect(sum(got["plan"]["shares"]), 256, f"{base} and {more}, in all")
for words in (["-d", "@desk+sim:9/item=10us"], ["-d", "sim:9;@desk"],
              ["-d", "@desk", "-d", "sim:9"], ["-d", "sim:9", "-d", "@desk"],
              ["-d", "@desk", "--add", "sim:9", "--add", "@lab"],
              ["-d", "@./m.json", "-d", "sim:9"]):
    got = ask("split", *words, "-N", "256", code=2)
    expect_true("stands alone" in got["error"]["text"],
                f"{words}: {got['error']['text']}")

# ---- what discover and calibrate have saved are machines
HOST = "host:0/threads=1"
QUICK = ["--budget", "50ms"]
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "two.json")
    ask("discover", "--machine", "sim:0/item=10us/fixed=500us+sim:1/item=50us/"
        "fixed=1.5ms", "--save", path)
    with open(path, encoding="utf-8") as file:
        expect(json.load(file).get("schema"), "hdp.machine", "what is saved")
    plan = ask("split", "-d", f"@{path}", "-N", "256")["plan"]
    expect(plan["shares"], [230, 26], "shares on a recorded machine")

    # of a real machine: seen again, but nobody knows how fast it is
    bare = os.path.join(folder, "bare.json")
    seen = ask("discover", "--machine", HOST, "--save", bare)
    expect(ask("discover", "--machine", f"@{bare}")["devices"],
           seen["devices"], "the devices that were recorded")
    expect(ask("discover", "--machine", bare, "--mask", "0")["visibility"]
           ["visible"], [], "a mask on a machine without GPUs")
    got = ask("split", "-d", f"@{bare}", "-N", "256", code=3)["error"]
    for part in (bare, "calibrate --save"):
        expect_true(part in got["text"], f"{got['text']} lacks '{part}'")
    got = ask("split", "--profile", bare, "-N", "256", code=2)["error"]
    expect_true(bare in got["text"] and "nothing has been measured" in
                got["text"], got["text"])

    # calibrate knows; its file is a machine and a profile
    full = os.path.join(folder, "full.json")
    measured = ask("calibrate", "-d", HOST, "--save", full, *QUICK)["profile"]
    expect(ask("discover", "--machine", f"@{full}")["devices"][0]["name"],
           seen["devices"][0]["name"], "the name is kept")
    plans = [ask("split", *words, "-N", "256") for words in
             (["-d", f"@{full}"], ["--profile", full],
              ["-d", HOST, "--profile", full],
              ["-d", f"@{bare}", "--profile", full])]
    for got in plans:
        expect(got["plan"]["predicted_ns"], plans[0]["plan"]["predicted_ns"],
               "one file, asked in four ways")
    expect(plans[1]["profile"]["members"][0]["points"],
           measured["members"][0]["points"], "the profile that was measured")
    ask("calibrate", "-d", HOST, "--save", full, *QUICK)  # over it
    pair = os.path.join(folder, "pair.json")
    ask("calibrate", "-d", "host:0-1", "--save", pair, *QUICK)
    expect(len(ask("split", "-d", f"@{pair}", "-N", "8")["plan"]["shares"]), 2,
           "two members of one host")
    slow = os.path.join(folder, "slow.json")
    ask("calibrate", "-d", f"{HOST}/duty=50", "--save", slow, *QUICK)
    ask("split", "-d", f"@{slow}", "--profile", slow, "-N", "8")
    # and recorded once more, from a machine
    again = os.path.join(folder, "desk.json")
    ask("calibrate", "-d", "@desk", "--save", again)
    want = ask("split", "-d", "@desk", "-N", "256")["plan"]
    plan = ask("split", "-d", f"@{again}", "-N", "256")["plan"]
    expect(plan["shares"], want["shares"], "shares by a saved profile")
    got = ask("calibrate", "-d", HOST, "--save", "/nowhere/x.json", *QUICK,
              code=3)["error"]
    expect_true("/nowhere/x.json" in got["text"], got["text"])

end()
