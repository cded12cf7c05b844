"""Bad command lines: exit code, one document, and where the fault is."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
from program import (SOURCE, ask, document, end, expect, expect_true, gpus,
                     run)

PAIR = "sim:0/item=10us+sim:1/item=50us"
DESK = os.path.join(SOURCE, "examples", "machines", "desk.json")

# words, what the message must hold, position in the option's value or None
USAGE = [
    (["split", "-d", "sim:0/item=", "-N", "8"], "item", None),
    (["split", "-d", "cuda:0,0", "-N", "8"], "0", None),
    (["split", "-d", "host:9999999999", "-N", "8"], "9999999999", None),
    (["split", "-d", "sim:0/item=-1us", "-N", "8"], "-1us", None),
    (["split", "-d", "sim:0/bogus=1", "-N", "8"], "bogus", None),
    (["split", "-d", "", "-N", "8"], "-d", 1),
    (["split", "-d", PAIR, "-N", "-1"], "-N", None),
    (["split", "-d", PAIR, "-N", "1e99"], "-N", 2),
    (["split", "-d", PAIR, "-N", "99999999999999999999"], "-N", None),
    (["split", "-d", PAIR, "-N", ""], "-N", 1),
    (["split", "-d", PAIR], "-N", None),
    (["nonsense"], "nonsense", None),
    (["doctor", "-N", "8"], "-N", None),
    (["watch", "--count", "0"], "--count", None),
    (["split", "--nonsense"], "--nonsense", None),
    (["split", "-N", "8", "reduce"], "reduce", None),
    (["discover", "-N", "8"], "-N", None),
    (["split", "-d", PAIR, "-N", "8", "--rule", "fair"], "fair", 1),
    (["split", "-d", PAIR, "-N", "8", "--rule", "equal,fair"], "fair", 7),
    (["split", "-d", PAIR, "-N", "8", "--rule", "manual"], "ratios", 7),
    (["split", "-d", PAIR, "-N", "8", "--rule", "manual=-1/2"], "negative", 8),
    (["split", "-d", PAIR, "-N", "8", "--rule", "manual=nan/2"], "number", 8),
    (["split", "-d", PAIR, "-N", "8", "--rule", "manual=0/0"], "zero", None),
    (["split", "-d", PAIR, "-N", "8", "--rule", "manual=1/2/3"], "3 ratios",
     None),
    (["split", "-d", PAIR, "-N", "8", "--budget", "300"], "unit", 4),
    (["calibrate", "-d", PAIR, "--rest", "1s"], "--repeat", None),
    (["calibrate", "-d", PAIR, "--reference", "1s"], "--repeat", None),
    (["calibrate", "-d", PAIR, "--repeat", "1"], "--repeat", None),
    (["calibrate", "-d", PAIR, "--repeat", "3", "--cache", "c"], "--cache",
     None),
    (["split", "-d", PAIR, "-N", "8", "--quantum", "0"], "--quantum", None),
    (["split", "-d", PAIR, "-N", "8", "--item-bytes", "4K"], "unit", 2),
    (["run", "-d", PAIR, "--work", "magic"], "magic", 1),
    (["reduce", "-d", PAIR, "--weights", "1/2/3"], "weights", None),
    (["reduce", "-d", PAIR, "--weights", "0.5/1"], "weight 1", None),
    (["reduce", "-d", PAIR, "-b", "8", "-e", "4"], "-b", None),
    (["split", "-d", PAIR, "-N", "8", "--out", "x.xml"], "x.xml", None),
    (["discover", "--save", ""], "--save", 1),
    (["split", "-d", PAIR, "-N", "8", "--save="], "--save", 1),
    (["split", "-N", "8", "--profile", ""], "--profile", 1),
    (["run", "-d", PAIR, "-N", "0"], "-N", None),
    (["run", "-d", PAIR, "--threads", "caller"], "--threads", None),
    (["run", "-d", PAIR, "--dtype", "f16"], "f32", None),
    (["calibrate", "-d", PAIR, "--probe", "work", "--dtype", "bf16"], "f32",
     None),
    (["calibrate", "-d", PAIR, "--dtype", "i32"], "i32", 1),
    (["reduce", "-d", PAIR, "--op", "max", "--weights", "3/1"], "max", None),
    (["split", "-d", PAIR, "-N", "8", "--remove", "1", "--remove", "1"],
     "--remove 1: given twice", None),
    (["split", "-d", PAIR, "-N", "8", "--ranks", "9"], "--bench", None),
    (["split", "-d", PAIR, "-N", "8", "--check"], "--check is for --bench",
     None),
    (["split", "-d", PAIR, "-N", "8", "--save", "x.json", "--out",
      "./x.json"], "--save", None),
    (["split", "--profile", DESK, "-N", "8", "--dtype", "bf16"],
     "desk.json is of f32", None),
    (["split", "-d", "@desk", "--profile", DESK, "-N", "8", "--dtype", "f16"],
     "desk.json is of f32", None),
]

for words, part, position in USAGE:
    line = " ".join(words)
    got = ask(*words, code=2)
    error = got.get("error") or {}
    expect(got.get("status"), "usage", f"status of {line}")
    expect(error.get("status"), "argument", f"error of {line}")
    expect_true(part in error.get("text", ""),
                f"{line}: '{error.get('text')}' does not name '{part}'")
    if position:
        expect(error.get("position"), position, f"position of {line}")
    plain = run(*words)
    expect(plain.returncode, 2, f"exit code of {line} without json")
    expect_true(part in plain.stderr, f"{line}: stderr is '{plain.stderr}'")
    expect_true("{" not in plain.stdout, f"{line}: json on a table's stdout")

# an option that is the last word and lacks its value
for words in (["split", "-o", "json", "-d", PAIR, "-N"],
              ["split", "-o", "json", "--devices"]):
    done = run(*words)
    expect(done.returncode, 2, f"exit code of {' '.join(words)}")
    expect_true("needs a value" in document(done.stdout)["error"]["text"],
                f"{' '.join(words)}: {done.stdout}")

# -o json counts also behind the fault, and in its other spellings
for spelling in (["-ojson"], ["--format=json"], ["--format", "json"]):
    done = run("nonsense", *spelling)
    expect(done.returncode, 2, f"exit code with {spelling}")
    expect(document(done.stdout)["status"], "usage", f"with {spelling}")

# a GPU that is not there, on a machine with others and on one without any
gpu = ask("split", "-d", "cuda:63", "-N", "8", code=3)
text = (gpu.get("error") or {}).get("text", "")
expect(gpu.get("status"), "environment", "status without the GPU")
expect((gpu.get("error") or {}).get("status"), "not_found", "no such GPU")
part = "cuda:63" if gpus() else "no device"
expect_true(part in text, f"no such GPU: '{text}' lacks '{part}'")

# a missing file, and a total that does not fit
missing = ask("split", "--profile", "/nowhere/x.json", "-N", "8", code=3)
expect_true("/nowhere/x.json" in missing["error"]["text"], "missing file")
full = ask("split", "-d", "sim:0/item=1us/mem=1GiB", "-N", "8",
           "--item-bytes", "1GB", code=1)
expect(full["error"]["status"], "capacity", "what does not fit")
expect(full["error"]["largest_total"], 1, "largest total that fits")

# a file that cannot be written: the document on stdout knows of it
lost = ask("split", "-d", PAIR, "-N", "8", "--out", "/nowhere/x.json", code=3)
expect(lost.get("status"), "environment", "status without the file")
expect_true("/nowhere/x.json" in (lost.get("error") or {}).get("text", ""),
            f"a file not written: {lost.get('error')}")
expect(lost.get("plan"), None, "found before the work, not after")

# the probe that is asked for is the one that is measured
for verb in (["calibrate"], ["split", "-N", "8"]):
    for probe in ("work", "copy"):
        got = ask(*verb, "-d", PAIR, "--probe", probe)
        expect([m["probe"] for m in got["profile"]["members"]], [probe] * 2,
               f"probe of {verb[0]} --probe {probe}")

# a deadline passes while functions are at work in the bench's own memory
for words in (["run", "-d", PAIR, "-N", "500"],
              ["run", "-d", "host:0-1/threads=1", "-N", "500"],
              ["calibrate", "-d", PAIR, "--probe", "work"]):
    for _ in range(3):
        late = ask(*words, "--timeout", "1us", code=5)
        expect(late.get("status"), "timeout", f"status of a late {words[0]}")
for _ in range(3):  # a reduce may be done before anyone looks at the clock
    late = run("reduce", "-d", "host:0-1/threads=1", "-b", "8M", "-e", "8M",
               "-n", "3", "--timeout", "1us", "-o", "json")
    expect_true((late.returncode, document(late.stdout).get("status")) in
                ((5, "timeout"), (0, "ok")), f"a late reduce: {late}")

# of two formats the last one counts, as with every option
both = run("split", "-d", PAIR, "-N", "8", "-o", "json", "-o", "table")
expect(both.returncode, 0, "exit code with two formats")
expect_true(not both.stdout.startswith("{"), "json, but table was said last")

# what the one thread can do, it does
alone = ask("run", "-d", PAIR, "--threads", "caller", "--work", "gemm", "-N",
            "60", "--rule", "finish", "--steps", "1", "--warmup", "0")
expect(alone["results"][0]["shares"], [50, 10], "gemm on the caller's thread")

# stdout that nobody reads
closed = os.open("/dev/full", os.O_WRONLY)
import subprocess
from program import BENCH
done = subprocess.run([BENCH, "--help"], stdout=closed,
                      stderr=subprocess.PIPE, text=True)
expect(done.returncode, 3, "exit code when stdout is full")
os.close(closed)
end()
