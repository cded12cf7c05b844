"""hdp_bench doctor and watch: on this machine as it is, on machines made of
files, with checks in children, and on the fake CUDA with ways that lie or hang
and a device that poisons its process."""
import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
FAKES = {name: os.environ.get(name, "")
         for name in ("HDP_BENCH_FAKE12", "HDP_BENCH_FAKE13", "HDP_FAKE_CUDA")}
import program
from program import (BENCH, ask, document, end, expect, expect_true, gpus,
                     run)

SEVERITIES = {"ok", "note", "warning", "error"}
HOSTS = "host:0-1/threads=1"


def findings(got, section=None, severity=None):
    return [row for row in got.get("findings", [])
            if section in (None, row["section"]) and
            severity in (None, row["severity"])]


def texts(rows):
    return " | ".join(row["text"] for row in rows)


def well_formed(got, what):
    for row in got.get("findings", []):
        expect(sorted(row), ["remedy", "section", "severity", "text"],
               f"{what}: members of a finding")
        expect_true(row["severity"] in SEVERITIES, f"{what}: {row}")
        if row["severity"] in ("warning", "error"):
            expect_true(row["remedy"], f"{what}: no remedy for {row['text']}")
    counts = got["summary"]
    for severity, key in (("ok", "ok"), ("note", "notes"),
                          ("warning", "warnings"), ("error", "errors")):
        expect(counts[key], len(findings(got, None, severity)),
               f"{what}: {key}")


# ---- this machine --------------------------------------------------------------

def as_it_is():
    """Whatever it is, doctor ends with 0; without a driver it says so."""
    got = ask("doctor")
    well_formed(got, "doctor")
    sections = [row["section"] for row in got["findings"]]
    for section in ("driver", "libraries", "visibility", "memory"):
        expect_true(section in sections, f"no section {section}: {sections}")
    expect(got["summary"]["gpus"], len(gpus()), "GPUs counted")
    if gpus():
        return
    driver = findings(got, "driver")
    expect_true("built without CUDA" in texts(driver) or
                ("driver absent or too old" in texts(driver) and
                 "libcuda.so.1" in texts(driver)), f"driver: {texts(driver)}")
    test = ask("doctor", "--test")
    expect_true("no GPU" in texts(findings(test, "test")),
                f"--test: {texts(findings(test))}")


def forms():
    done = run("doctor", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    expect_true(rows and rows[0]["section"] == "driver", f"csv: {rows[:1]}")
    done = run("doctor", "-o", "jsonl")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    expect((lines[0]["type"], lines[-1]["type"]), ("document", "end"), "jsonl")
    expect_true(any(line["type"] == "finding" for line in lines), "jsonl rows")
    done = run("doctor")
    expect(done.returncode, 0, "exit code of the table")
    expect_true("->" in done.stdout, f"no remedy in {done.stdout}")
    done = run("doctor", "--test", "--pair", "--help")
    expect_true("--test" in done.stdout, "help")


def masks():
    got = ask("doctor", env={"CUDA_VISIBLE_DEVICES": ""})
    expect_true("is empty" in texts(findings(got, "visibility", "warning")),
                f"an empty mask: {texts(findings(got, 'visibility'))}")
    got = ask("doctor", env={"CUDA_DEVICE_ORDER": "pci"})
    expect_true("'pci'" in texts(findings(got, "visibility", "error")),
                f"a wrong order: {texts(findings(got, 'visibility'))}")


# ---- a machine of files --------------------------------------------------------

def plant(root, path, text=""):
    path = os.path.join(root, path.lstrip("/"))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def card(root, address, vendor="0x10de", kind="0x030000"):
    plant(root, f"/sys/bus/pci/devices/{address}/vendor", vendor + "\n")
    plant(root, f"/sys/bus/pci/devices/{address}/class", kind + "\n")


def machines_of_files():
    """What the kernel and containers leave behind, read below a folder."""
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "dev/shm"))
        card(root, "0000:01:00.0")
        card(root, "0000:02:00.0", kind="0x030200")
        card(root, "0000:01:00.1", kind="0x040300")  # its sound
        card(root, "0000:03:00.0", vendor="0x1002")
        got = ask("doctor", "--root", root)
        if got["summary"]["gpus"]:
            return  # a machine that has some is no part of this
        well_formed(got, "cards without a driver")
        wrong = findings(got, "driver", "error")
        expect_true("2 GPUs of NVIDIA" in texts(wrong) and
                    "install" in (wrong[0]["remedy"] if wrong else ""),
                    f"cards without a driver: {wrong}")
        plant(root, "/.dockerenv")
        got = ask("doctor", "--root", root)
        expect_true("given none of the 2 GPUs" in
                    texts(findings(got, "place", "error")),
                    f"a container: {texts(findings(got, 'place'))}")
        plant(root, "/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue\n"
              "GCC version: gcc version 12.2.0\n")
        got = ask("doctor", "--root", root)
        wrong = findings(got, "driver", "error")
        expect_true("--gpus all" in (wrong[0]["remedy"] if wrong else ""),
                    f"a driver that is not let in: {wrong}")
        expect_true("/dev/nvidiactl is missing" in
                    texts(findings(got, "devices", "error")),
                    f"nodes: {texts(findings(got, 'devices'))}")
        plant(root, "/proc/version", "Linux 5.15 microsoft-standard-WSL2")
        plant(root, "/sys/fs/cgroup/cpu.max", "150000 100000\n")
        got = ask("doctor", "--root", root, env={"SLURM_JOB_ID": "7"})
        place = texts(findings(got, "place"))
        expect_true("WSL2" in place, f"WSL2: {place}")
        expect_true("150 %" in place, f"cores: {place}")
        expect_true("Slurm job 7 was given no GPU" in place, f"Slurm: {place}")
        os.rmdir(os.path.join(root, "dev/shm"))
        got = ask("doctor", "--root", root)
        expect_true("no shared memory" in
                    texts(findings(got, "memory", "warning")),
                    f"memory: {texts(findings(got, 'memory'))}")


# ---- checks in children --------------------------------------------------------

def states(got):
    return {(row["check"], row["subject"]): row["state"]
            for row in got.get("tests", [])}


def matrix(got):
    return {(row["from"], row["to"]): row["way"]
            for row in got.get("matrix", [])}


def host_checks():
    got = ask("doctor", "--test", "-d", HOSTS)
    well_formed(got, "host checks")
    seen = states(got)
    expect(set(seen.values()), {"ok"}, f"host checks: {got.get('tests')}")
    expect(len(seen), 10, "checks of two host members")
    one, two = "host:0/threads=1", "host:1/threads=1"
    expect(matrix(got), {(one, one): "ok", (one, two): "host",
                         (two, one): "host", (two, two): "ok"}, "matrix")
    lines = [row["line"] for row in got["tests"]]
    expect_true(all(line.startswith("hdp_bench ") for line in lines), lines[0])
    # what people are told to type does what the child did
    words = next(row["line"] for row in got["tests"]
                 if row["check"] == "products").split()[1:]
    expect(run(*words).returncode, 0, f"the line {words}")


def failing_checks():
    """A simulated device that cannot allocate: found, named, exit 1."""
    spec = "sim:0/item=1us/fail=launch:1-+sim:1/item=1us"
    got = ask("doctor", "--test", "-d", spec, code=1)
    well_formed(got, "a failing device")
    wrong = findings(got, "test", "error")
    expect_true(wrong and "sim:0" in wrong[0]["text"] and
                "hdp_bench " in wrong[0]["remedy"], f"a failing device: {wrong}")
    expect(got["status"], "check_failed", "status")
    for (check, subject), state in states(got).items():
        if subject.startswith("sim:1"):
            expect(state, "ok", f"{check} of {subject}")


def late_checks():
    """A child that does not end is killed at its deadline."""
    began = time.monotonic()
    got = ask("doctor", "--test", "--timeout", "1ms", "-d", HOSTS, code=1)
    expect_true(time.monotonic() - began < 20, "deadlines are kept")
    expect_true("failed" in states(got).values() and
                "ok" not in states(got).values(), f"{states(got)}")
    wrong = texts(findings(got, "test", "error"))
    expect_true("killed" in wrong or "deadline" in wrong, f"late: {wrong}")


# ---- watch ---------------------------------------------------------------------

def watching():
    began = time.monotonic()
    done = run("watch", "--count", "2", "-o", "jsonl")
    spent = time.monotonic() - began
    expect(done.returncode, 0, f"watch: {done.stderr}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [line["type"] for line in lines]
    expect((kinds[0], kinds[-1]), ("document", "end"), "watch's lines")
    rows = [line for line in lines if line["type"] == "state"]
    expect({row["round"] for row in rows}, {0, 1}, "rounds")
    expect_true(0.9 < spent < 30, f"two rounds took {spent} s")
    got = ask("watch")
    expect_true(len(got["states"]) >= 1, "one round of states")
    found = gpus()
    expect([row["spec"] for row in got["states"]],
           [device["spec"] for device in found] or ["host:0"], "who is watched")
    if not found:
        why = got["no_gpu_because"]
        expect_true("driver absent" in why or "built without CUDA" in why,
                    f"why no GPU: {why}")
    done = run("watch", "--count", "1")
    expect_true("\033" not in done.stdout, "codes of a terminal in a pipe")
    if os.path.exists("/dev/pts/ptmx"):
        ours, theirs = pty.openpty()
        subprocess.run([BENCH, "watch", "--count", "1"], stdout=theirs,
                       timeout=60, check=True)
        os.close(theirs)
        expect_true(os.read(ours, 4096).startswith(b"\033[H"), "in place")
        os.close(ours)
    else:
        print("not tried on a terminal: this system has no /dev/pts")


def stopped_by_hand():
    watcher = subprocess.Popen([BENCH, "watch", "-o", "jsonl"], text=True,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    first = watcher.stdout.readline()
    expect(json.loads(first)["type"], "document", "comes at once")
    watcher.send_signal(signal.SIGINT)
    rest = watcher.communicate(timeout=30)[0].splitlines()
    expect(watcher.returncode, 130, "exit code of an interrupt")
    expect(json.loads(rest[-1])["status"], "interrupted", "the last line")


# ---- the fake ------------------------------------------------------------------

def on_fake(bench, words, *arguments, code=0, env=None):
    """hdp_bench of one CUDA's image list, on a machine made of words."""
    program.BENCH = bench
    try:
        return ask(*arguments, "--cublas", FAKES["HDP_FAKE_CUDA"], "--nvml",
                   FAKES["HDP_FAKE_CUDA"], code=code,
                   env={"FAKE_CUDA": words, **(env or {})})
    finally:
        program.BENCH = BENCH


def fake_machines():
    bench = FAKES["HDP_BENCH_FAKE13"]
    got = on_fake(bench, "machine=desk", "doctor")
    well_formed(got, "desk")
    left = texts(findings(got, "devices", "warning"))
    expect_true("sm_61" in left, f"a card without code: {left}")
    expect_true("no telemetry" not in texts(findings(got, "libraries")),
                "NVML of the fake")
    got = on_fake(bench, "machine=twin tenant=1:8GiB", "doctor")
    expect_true("cuda:1" in texts(findings(got, "users")),
                f"another's memory: {texts(findings(got, 'users'))}")
    expect_true("no peer access" in texts(findings(got, "links")),
                f"twin's links: {texts(findings(got, 'links'))}")
    got = on_fake(bench, "machine=twin fail=nvmlInit:1-:18", "doctor")
    blind = findings(got, "libraries", "warning")
    expect_true(len(blind) == 1 and "18" in blind[0]["text"],
                f"F10, other than the driver: {blind}")
    expect(got["summary"]["gpus"], 2, "F10: all else works")
    got = on_fake(bench, "nodriver", "doctor")
    expect_true("driver absent or too old" in texts(findings(got, "driver")),
                f"no driver: {texts(findings(got, 'driver'))}")
    got = on_fake(bench, "machine=laptop", "watch")
    row = got["states"][0]
    expect_true(row["clock_mhz"] is not None and row["use_percent"] is not None,
                f"watch on a fake: {row}")


def named_nvml():
    """--nvml is obeyed by what has no context too, or refused."""
    for verb in ("doctor", "watch"):
        text = ask(verb, "--nvml", "/nowhere/n.so", code=3)["error"]["text"]
        expect_true("--nvml /nowhere/n.so" in text, f"{verb}: {text}")
    fake = FAKES["HDP_FAKE_CUDA"]
    got = ask("doctor", "--nvml", fake, env={"FAKE_CUDA": "machine=twin"})
    path = got["tool"]["runtime"]["libraries"]["nvml"]["path"] or ""
    expect(os.path.realpath(path), os.path.realpath(fake), "the NVML named")
    expect_true(path in texts(findings(got, "libraries", "ok")),
                f"the NVML told: {texts(findings(got, 'libraries'))}")


def fake_checks():
    bench = FAKES["HDP_BENCH_FAKE12"]
    got = on_fake(bench, "machine=twin", "doctor", "--test")
    expect(set(states(got).values()), {"ok"}, f"twin: {got.get('tests')}")
    expect(matrix(got)["cuda:0", "cuda:1"], "host", "twin has no peer access")


def three_findings():
    """A lying pair, a hanging pair and a poisoned device: each a finding with
    its cause, exit 1, within half a minute."""
    words = "machine=lab copies=2 peer=lie:0-1 peer=hang:0-4 sick=3:700"
    began = time.monotonic()
    got = on_fake(FAKES["HDP_BENCH_FAKE12"], words, "doctor", "--test", code=1)
    spent = time.monotonic() - began
    expect_true(spent <= 30, f"--test took {spent:.1f} s")
    wrong = findings(got, "test", "error")
    expect(len(wrong), 3, f"findings: {[row['text'] for row in wrong]}")
    said = texts(wrong)
    for subject, cause in (("cuda:0 and cuda:1", "bytes are wrong"),
                           ("cuda:0 and cuda:4", "has not ended"),
                           ("cuda:3: ", "700")):
        expect_true(any(subject in row["text"] and cause in row["text"]
                        for row in wrong), f"{subject}: {cause}: {said}")
    expect(matrix(got).get(("cuda:0", "cuda:1")), "wrong", "the lying pair")
    expect(matrix(got).get(("cuda:0", "cuda:4")), "hangs", "the hanging pair")
    expect(matrix(got).get(("cuda:3", "cuda:3")), "fails", "the sick device")
    expect(matrix(got).get(("cuda:1", "cuda:4")), "host", "a pair that is well")


as_it_is()
forms()
masks()
machines_of_files()
host_checks()
failing_checks()
late_checks()
watching()
stopped_by_hand()
if all(FAKES.values()):
    named_nvml()
    fake_machines()
    fake_checks()
    three_findings()
end()
