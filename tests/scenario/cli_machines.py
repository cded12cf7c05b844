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
