"""The forms of a document: what each holds, that all say the same, and that
they are the same bytes each time (golden/; --update writes those anew)."""
import csv
import io
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

UPDATE = "--update" in sys.argv
if UPDATE:
    sys.argv.remove("--update")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "cli"))
from program import (BENCH, SOURCE, ask, document, end, expect, expect_true,
                     run)

ISSUE = "sim:0/fixed=500us/item=10us+sim:1/fixed=1.5ms/item=50us"
SPLIT = ["split", "-d", ISSUE, "-N", "256", "--rule", "finish,equal"]
RUN = ["run", "-d", ISSUE, "--work", "gemm", "-N", "256", "--steps", "2",
       "--warmup", "0"]
SUFFIX = {"table": "txt"}


def lines_of(text):
    return [document(line) for line in text.splitlines()]


def table_of(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def steady(text):
    """Without the clock and the build."""
    text = re.sub(r'"environment":\{.*?\},"tool":\{.*\}\}', '"tool":{}', text)
    text = re.sub(r"hdp_bench \d+\.\d+\.\d+", "hdp_bench VERSION", text)
    text = re.sub(r"Version \d+\.\d+\.\d+", "Version VERSION", text)
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "STARTED", text)


def golden(name, form, *words, code=0):
    done = run(*words, "-o", form)
    path = os.path.join(HERE, "golden", f"{name}.{SUFFIX.get(form, form)}")
    expect(done.returncode, code, f"exit code of {name} as {form}")
    got = steady(done.stdout)
    if UPDATE:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(got)
    with open(path, encoding="utf-8", newline="") as file:
        want = file.read()
    for number, (a, b) in enumerate(zip(got.splitlines(), want.splitlines())):
        expect(a, b, f"{path}: line {number + 1}")
    expect(len(got), len(want), f"{path}: length")


# ---- byte for byte
for form in ("table", "jsonl", "csv", "md"):
    golden("split", form, *SPLIT)
    golden("usage", form, "split", "-d", ISSUE, "--rule", 'a|b"c,d',
           "-N", "256", code=2)
for form in ("csv", "md"):
    golden("discover", form, "discover", "--machine", "@desk", "--mask", "1,x")
golden("calibrate", "csv", "calibrate", "-d", ISSUE)
golden("run", "csv", *RUN)
for form in ("table", "jsonl", "md"):
    golden("what_if", form, "split", "-d", "@desk", "-N", "256",
           "--reduce-bytes", "400000000", "--add", "sim:0/item=2ms/link=6GB",
           "--remove", "2")

# ---- jsonl: a line a row, and the document can be put together again
whole = ask(*SPLIT)
lines = lines_of(run(*SPLIT, "-o", "jsonl").stdout)
expect([line["type"] for line in lines],
       ["document", "device", "device", "profile", "member", "member",
        "rank", "rank", "rank", "rank", "scaling", "end"],
       "types of split's lines")
for key in ("schema", "schema_version", "command", "status"):
    expect(lines[0].get(key), whole[key], f"first line: {key}")
ranks = [line for line in lines if line["type"] == "rank"]
for plan, mine in zip(whole["plans"], (ranks[:2], ranks[2:])):
    for many, one in (("shares", "share"), ("offsets", "offset"),
                      ("weights", "weight"), ("rank_ns", "rank_ns"),
                      ("state", "state"), ("bound_by", "bound_by")):
        expect([row[one] for row in mine], plan[many],
               f"{plan['rule']}: {many} of the lines")
    expect([row["predicted_ns"] for row in mine], [plan["predicted_ns"]] * 2,
           f"{plan['rule']}: the step")
members = [line for line in lines if line["type"] == "member"]
expect([row["points"] for row in members],
       [row["points"] for row in whole["profile"]["members"]], "points")
expect_true(all(row["simulated"] is True and "simulated" in row["slowdown"]
                for row in lines[1:-1]), "every row says it is simulated")
result = [row for row in lines_of(run(*RUN, "-o", "jsonl").stdout)
          if row["type"] == "result"]
expect([row["step_ns"]["samples"] for row in result if row["rule"] == "finish"],
       [[2800000] * 2], "samples in a line")

# ---- csv: one row a tuple of rule and rank
rows = table_of(run(*SPLIT, "-o", "csv").stdout)
expect([(row["rule"], row["rank"], row["share"]) for row in rows],
       [("finish", "0", "230"), ("finish", "1", "26"), ("equal", "0", "128"),
        ("equal", "1", "128")], "csv of split")
expect({row["status"] for row in rows}, {"ok"}, "status in csv")
rows = table_of(run(*RUN, "-o", "csv").stdout)
expect(len({(row["rule"], row["rank"]) for row in rows}), len(rows),
       "csv of run: a tuple twice")
expect([(row["share"], row["step_median_ns"]) for row in rows
        if row["rule"] == "finish"], [("230", "2800000"), ("26", "2800000")],
       "csv of run")
rows = table_of(run("reduce", "-d", "host:0-1/threads=1", "-b", "8", "-e", "64",
                    "-n", "2", "-w", "0", "-o", "csv").stdout)
expect([(row["bytes"], row["wrong"]) for row in rows],
       [("8", "0"), ("16", "0"), ("32", "0"), ("64", "0")], "csv of reduce")
saved = run("split", "-d", "@desk", "-N", "256", "-o", "csv").stdout
expect(len(table_of(saved)), 3, "csv of a machine")

# ---- md: as many cells in every line of a table
for words in (SPLIT, RUN, ["discover", "--machine", "@desk", "--mask", "1,0"]):
    cells = 0
    for line in run(*words, "-o", "md").stdout.splitlines():
        count = len(re.findall(r"(?<!\\)\|", line))
        if count and cells:
            expect(count, cells, f"cells of {line}")
        cells = count

# ---- failures
bad = ["split", "-N", "8", "-d", "sim:0/item=1us", "--rule", 'a|b"c,d']
text = ask(*bad, code=2)["error"]["text"]
expect_true('a|b"c,d' in text, f"the fault is named: {text}")
done = run(*bad, "-o", "jsonl")
expect(done.returncode, 2, "exit code as jsonl")
expect(lines_of(done.stdout)[-1]["error"]["text"], text, "error as jsonl")
row = table_of(run(*bad, "-o", "csv").stdout)[0]
expect((row["status"], row["exit_code"], row["error"], row["text"]),
       ("usage", "2", "argument", text), "error as csv")
expect_true("Status: usage." in run(*bad, "-o", "md").stdout, "error as md")
row = table_of(run("split", "-d", "cuda:63", "-N", "8", "-o", "csv").stdout)[0]
expect((row["status"], row["error"]), ("environment", "not_found"),
       "no device as csv")
for spelling in (["-ocsv"], ["--format=csv"], ["--format", "csv"]):
    row = table_of(run("nonsense", *spelling).stdout)[0]
    expect(row["status"], "usage", f"with {spelling}")

# ---- --out: the suffix decides, whole or not at all
with tempfile.TemporaryDirectory() as folder:
    def at(name):
        return os.path.join(folder, name)

    def content(name):
        with open(at(name), encoding="utf-8", newline="") as file:
            return file.read()

    names = ["a.json", "a.jsonl", "a.csv", "a.md", "a.txt"]
    outs = [word for name in names for word in ("--out", at(name))]
    done = run(*SPLIT, "-o", "csv", *outs)
    expect(done.returncode, 0, "exit code with five files")
    expect(sorted(os.listdir(folder)), sorted(names), "files, and no others")
    expect(content("a.csv"), done.stdout, "csv in the file and on stdout")
    expect(document(content("a.json"))["plan"], whole["plan"], "json")
    expect([line["type"] for line in lines_of(content("a.jsonl"))],
           [line["type"] for line in lines], "jsonl")
    expect_true(content("a.md").startswith("# hdp_bench split"), "md")
    expect_true("2.800 ms" in content("a.txt"), "txt")

    # an existing file keeps its mode; through a link the target is replaced
    os.chmod(at("a.csv"), 0o640)
    os.symlink(at("a.csv"), at("link.csv"))
    run("split", "-d", ISSUE, "-N", "8", "--out", at("link.csv"))
    expect_true(os.path.islink(at("link.csv")), "a link stays a link")
    expect(stat.S_IMODE(os.stat(at("a.csv")).st_mode), 0o640, "mode")
    before = content("a.csv")
    expect([row["total"] for row in table_of(before)], ["8", "8"],
           "new contents behind the link")

    # a run that fails leaves what was there
    expect(run("split", "-d", "cuda:63", "-N", "8", "--out",
               at("a.csv")).returncode, 3, "no such device")
    expect(content("a.csv"), before, "contents after a failure")

    # a check that fails is a result
    full = ["calibrate", "-d", "sim:0/item=9us+sim:1/item=1us", "--check"]
    run("calibrate", "-d", "sim:0/item=1us+sim:1/item=1us", "--save",
        at("p.json"))
    expect(run(*full, at("p.json"), "--out", at("c.csv")).returncode, 1,
           "drift")
    expect([row["status"] for row in table_of(content("c.csv"))],
           ["check_failed"] * 2, "status in the file")

    # not writable: before the work, and nothing is written
    kept = sorted(os.listdir(folder))
    for target in (at("no/x.json"), folder + "/a.csv/x.md"):
        got = ask(*SPLIT, "--out", at("new.json"), "--out", target, code=3)
        expect_true(target in got["error"]["text"], f"{got['error']['text']}")
        expect(got.get("devices"), None, f"{target}: before the work")
    os.mkdir(at("d.csv"))
    got = ask(*SPLIT, "--out", at("d.csv"), code=3)
    expect_true("directory" in got["error"]["text"].lower(), "a folder")
    expect(sorted(os.listdir(folder)), sorted(kept + ["d.csv"]), "leftovers")
    if os.geteuid() != 0:
        os.chmod(at("a.csv"), 0o440)
        expect(ask(*SPLIT, "--out", at("a.csv"), code=3)["status"],
               "environment", "a file that is read-only")

# ---- progress: on stderr, silent where nobody looks
def on_terminal(*words):
    """stderr of hdp_bench WORDS when that is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([BENCH, *words], stdout=subprocess.DEVNULL,
                               stderr=theirs)
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError: # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(ours)
    expect(process.wait(timeout=60), 0, "exit code on a terminal")
    return text.decode()


TIMED = ["split", "-d", ISSUE, "-N", "256", "--bench", "200"]
for words in ([], ["--progress", "auto"], ["--progress", "never"]):
    expect(run(*TIMED, *words).stderr, "", f"stderr of a pipe with {words}")
told = run(*TIMED, "--progress", "always", "-o", "json")
expect(document(told.stdout)["status"], "ok", "stdout beside progress")
expect_true("calibrate 1/1" in told.stderr and
            told.stderr.endswith("split 200/200\n"),
            f"progress always: {told.stderr}")
said = lines_of(run("split", "-d", "sim:0/mem=1GiB", "-N", "5", "--item-bytes",
                    "1GiB", "--progress", "jsonl",
                    env={"HDP_NO_SUCH": "1"}).stderr)
expect([line["type"] for line in said if line["type"] != "progress"],
       ["warning", "error"], "what else is said between lines of progress")
expect_true("HDP_NO_SUCH" in said[0]["text"], f"the warning: {said[0]}")
told = lines_of(run(*TIMED, "--progress", "jsonl").stderr)
expect({line["type"] for line in told}, {"progress"}, "types of progress")
steps = [line for line in told if line["phase"] == "split"]
expect((steps[0]["done"], steps[0]["eta_ns"]), (0, None), "nothing done yet")
expect((steps[-1]["done"], steps[-1]["eta_ns"]), (200, 0), "all done")
for line in steps[1:]:
    done, elapsed = line["done"], line["elapsed_ns"]
    expect(line["eta_ns"], int(elapsed * float(200 - done) / done),
           f"time left after {done} of 200 in {elapsed} ns")
if os.path.exists("/dev/pts/ptmx"):
    text = on_terminal(*TIMED)
    expect_true("\r\x1b[K" in text and "split 200/200" in text,
                f"progress on a terminal: {text!r}")
    expect(on_terminal(*TIMED, "--quiet"), "", "progress when quiet")
else:
    print("not tried on a terminal: this system has no /dev/pts")

# ---- the manual page: every option of the table, and roff that is right
with open(os.path.join(SOURCE, "bench", "optiontable.c"),
          encoding="utf-8") as file:
    table = re.findall(r"(?:'(.)'|\b0), *\"([a-z_-]+)\",\s*(?:NULL|\"([^\"]+)\")"
                       r",\s*OPTION_", file.read())
expect_true(len(table) > 40, f"only {len(table)} options found in the table")
page = run("--help-man").stdout
overview = run("--help").stdout
helps = "".join(run(name, "--help").stdout for name in (
    "demo", "discover", "calibrate", "split", "run", "reduce", "plot",
    "lease", "doctor", "watch"))
hidden = ("help-man", "root")  # of the build, of tests
for letter, name, argument in table:
    if name in hidden:
        expect_true(f"--{name}" not in helps, f"--{name} is hidden")
        continue
    entry = (f"\\-{letter}\\fR, \\fB" if letter else "") + \
        "\\-\\-" + name.replace("-", "\\-") + "\\fR" + \
        (f" \\fI{argument}\\fR" if argument else "")
    expect_true(f".TP\n\\fB{entry}\n" in page, f"--{name} on the page: {entry}")
    expect_true(f"--{name}" in helps, f"--{name} in the help")
expect(page.count("\n.TP\n\\fB\\-"), len(table) - len(hidden),
       "options on the page")
expect(max(map(len, (helps + overview).splitlines())) < 80, True,
       "width of the help")
lints = [["mandoc", "-T", "lint", "-W", "error"], ["groff", "-man", "-ww", "-z"]]
lints = [lint for lint in lints if shutil.which(lint[0])]
if not lints:
    print("not linted: neither mandoc nor groff is here")
for lint in lints:
    done = subprocess.run(lint, input=page, capture_output=True, text=True)
    expect((done.returncode, done.stdout + done.stderr), (0, ""),
           f"{lint[0]} on the page")
built = os.path.join(os.path.dirname(BENCH), "hdp_bench.1")
if os.path.exists(built):
    with open(built, encoding="utf-8") as file:
        expect(file.read(), page, "the page that the build has written")

# ---- interrupted: a document all the same, of what was done until then
HOSTS = ["-d", "host:0/threads=1+host:1/threads=1"]
LONG = {
    "run": ["run", *HOSTS, "--work", "gemm", "-N", "512", "--steps", "1000000",
            "--warmup", "0", "--budget", "50ms"],
    "reduce": ["reduce", *HOSTS, "-b", "8", "-e", "16M", "-n", "2000"],
    "split": [*TIMED[:-1], "1000000"],
    "calibrate": ["calibrate", *HOSTS, "--budget", "10m"],
}


def interrupted(name, words, form, ignored=False):
    """stdout after a SIGINT that came when phase `name` had made progress."""
    process = subprocess.Popen(
        [BENCH, *words, "--progress", "jsonl", "-o", form], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_IGN if ignored else signal.SIG_DFL))
    try:
        for line in process.stderr:
            told = document(line)
            if told.get("phase") == name and (told["done"] or
                                              name == "calibrate"):
                break
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=60)[0]
    finally:
        process.kill()  # of a test that failed: it would go on for hours
    expect(process.returncode, 0 if ignored else 130, f"exit code of {name}")
    return text


for name, words in LONG.items():
    got = document(interrupted(name, words, "json"))
    expect((got["status"], got["error"]["exit_code"]), ("interrupted", 130),
           f"status of {name}")
    expect_true("interrupted" in got["error"]["text"], f"error of {name}")
    expect(len(got["devices"]), 2, f"devices of {name}")
    if name == "run":
        expect_true(0 < got["results"][0]["step_ns"]["n"] < 1000000,
                    f"rounds until then: {got['results'][0]['step_ns']['n']}")
        expect(got["check"]["ok"], True, "results until then")
    elif name == "reduce":
        expect_true(got["reduce"], "no size until then")
    elif name == "split":
        expect_true(0 < len(got["split_bench"]["samples_ns"]) < 1000000,
                    "batches until then")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.csv")
    text = interrupted("reduce", [*LONG["reduce"], "--out", path], "jsonl")
    expect(lines_of(text)[-1]["status"], "interrupted", "last line")
    with open(path, encoding="utf-8") as file:
        expect({row["status"] for row in table_of(file.read())},
               {"interrupted"}, "csv in a file")
    expect(os.listdir(folder), ["x.csv"], "files after an interrupt")
    path = os.path.join(folder, "demo")
    os.mkdir(path)
    got = document(interrupted("calibrate", ["demo", "--out", path], "json"))
    expect(got["status"], "interrupted", "the demo")
    expect(os.listdir(path), [], "files of a demo that was interrupted")
short = ["run", *HOSTS, "--work", "gemm", "-N", "64", "--steps", "20",
         "--warmup", "0", "--budget", "50ms"]
got = document(interrupted("run", short, "json", ignored=True))
expect((got["status"], got["results"][0]["step_ns"]["n"]), ("ok", 20),
       "under nohup")

# ---- a reader that goes away
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.json")
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run([BENCH, *SPLIT, "-o", "jsonl", "--out", path],
                          stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    expect(done.returncode, 3, "exit code without a reader")
    expect_true("stdout" in done.stderr, f"stderr: {done.stderr}")
    with open(path, encoding="utf-8") as file:
        expect(document(file.read())["plan"], whole["plan"], "the file")

# ---- in any locale the same bytes
for form in ("jsonl", "csv", "md"):
    plain = steady(run(*SPLIT, "-o", form).stdout)
    for locale in ("de_DE.UTF-8", "fr_FR.UTF-8", "C"):
        expect(steady(run(*SPLIT, "-o", form, env={"LC_ALL": locale}).stdout)
               .replace(f'"LC_ALL":"{locale}"', ""), plain,
               f"{form} under {locale}")
end()
