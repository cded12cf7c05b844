"""Plans for machines that are elsewhere: each shipped one by name and by file,
and one that the tool itself has recorded."""
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "cli"))
from program import ask, end, expect, expect_true, run

FOLDER = os.path.join(os.environ.get("HDP_SOURCE_DIR",
                                     os.path.join(HERE, "..", "..")),
                      "examples", "machines")
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

# ---- what discover has saved is a machine
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "two.json")
    ask("discover", "--machine", "sim:0/item=10us/fixed=500us+sim:1/item=50us/"
        "fixed=1.5ms", "--save", path)
    with open(path, encoding="utf-8") as file:
        expect(json.load(file).get("schema"), "hdp.machine", "what is saved")
    plan = ask("split", "-d", f"@{path}", "-N", "256")["plan"]
    expect(plan["shares"], [230, 26], "shares on a recorded machine")
    # and with a profile that calibrate has saved, one whose speed is known
    saved = os.path.join(folder, "profile.json")
    ask("calibrate", "-d", "@desk", "--save", saved)
    with open(os.path.join(FOLDER, "desk.json"), encoding="utf-8") as file:
        machine = json.load(file)
    with open(saved, encoding="utf-8") as file:
        machine["profiles"] = [json.load(file)]
    path = os.path.join(folder, "desk.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(machine, file)
    want = ask("split", "-d", "@desk", "-N", "256")["plan"]
    plan = ask("split", "-d", f"@{path}", "-N", "256")["plan"]
    expect(plan["shares"], want["shares"], "shares by a saved profile")

end()
