"""hdp_bench lease: what the command gets and what it ends with, who is told of
what, signals, and a lease that outlives the program that took it."""
import csv
import ctypes
import io
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
from program import BENCH, ask, document, end, expect, expect_true, run

FOUR = ("sim:0/uuid=GPU-a+sim:1/uuid=GPU-b+sim:2/uuid=GPU-c+sim:3/uuid=GPU-d")
ONE = "sim:0/uuid=GPU-a"
FOLDER = tempfile.TemporaryDirectory()
ENV = {"HDP_LEASE_DIR": FOLDER.name}


def lease(*words, spec=FOUR, **more):
    return run("lease", "-d", spec, *words, env=ENV, **more)


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def start(*words, spec=FOUR, first=None):
    """Ends with this test, and so does its command: SIGTERM is forwarded."""
    def before():
        LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if first:
            first()
    return subprocess.Popen([BENCH, "lease", "-q", "-d", spec, *words],
                            env={**os.environ, **ENV}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            preexec_fn=before)


def states(spec=FOUR):
    got = ask("lease", "--list", "-d", spec, env=ENV)
    return {row["uuid"]: row for row in got.get("leases", [])}


def until(what, holds, seconds=20):
    for _ in range(int(seconds * 100)):
        if holds():
            return
        time.sleep(0.01)
    expect(False, True, what)


def held(uuid="GPU-a", spec=FOUR):
    return states(spec)[uuid]["state"] == "held"


# ---- what the command gets, and what it ends with
SAY = 'echo "$CUDA_VISIBLE_DEVICES|$CUDA_DEVICE_ORDER|$HDP_LEASE_DIR"'
done = run("lease", "-d", FOUR, "--gpus", "2", "-q", "--", "sh", "-c", SAY,
           env={**ENV, "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
                "CUDA_VISIBLE_DEVICES": "7"})
expect(done.stdout, f"GPU-a,GPU-b|PCI_BUS_ID|{FOLDER.name}\n",
       "the command's environment")
expect(done.stderr, "", "nothing printed beside it")
expect(os.environ.get("CUDA_VISIBLE_DEVICES"), None, "this program's mask")
for code in (0, 1, 2, 5, 7, 255):
    expect(lease("--gpus", "1", "--", "sh", "-c", f"exit {code}").returncode,
           code, "the command's exit code")
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
    expect(lease("--gpus", "1", "--", "sh", "-c",
                 f"kill -{int(number)} $$").returncode, 128 + number,
           "of a command that was killed")
expect(lease("--gpus", "1", "--", "/no/such").returncode, 127, "not there")
expect(lease("--gpus", "1", "--", "/tmp").returncode, 126, "not a program")
words = lease("--gpus", "1", "-q", "--", "printf", "[%s]", "-o", "json", "--",
              "a b", "").stdout
expect(words, "[-o][json][--][a b][]", "the command's own words")
done = lease("--gpus", "1", "--", "true")
expect_true("simulated" in done.stderr, "a simulation is said in words")
expect(lease("-q", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES",
             spec=ONE).stdout, "GPU-a\n", "exactly those named")
expect(lease("--gpus", "2", "-q", "--mask", "GPU-d,GPU-b", "--", "sh", "-c",
             "echo $CUDA_VISIBLE_DEVICES").stdout, "GPU-d,GPU-b\n",
       "within a mask")
expect(run("lease", "--gpus", "1", "-q", "--", "sh", "-c",
           "echo $CUDA_VISIBLE_DEVICES", env={**ENV, "HDP_DEVICES": FOUR}).stdout,
       "GPU-a\n", "of HDP_DEVICES")
pipes = "yes | head -1; echo ${PIPESTATUS[0]}"
expect(lease("--gpus", "1", "-q", "--", "bash", "-c", pipes).stdout, "y\n141\n",
       "SIGPIPE is the command's again")

# A script's own descriptors do not replace those of the lease: the job that is
# left has it when the wrapper is gone.
job = start("--gpus", "1", "--", "sh", "-c",
            "exec 3>/dev/null 4>&3 5>&3 6>&3 7>&3 8>&3 9>&3; echo $$; "
            "exec sleep 60")
child = int(job.stdout.readline())
job.kill()
job.wait(20)
expect(held(), True, "held by a job that uses descriptors 3 to 9")
os.kill(child, signal.SIGKILL)
until("its end", lambda: not held())
job.communicate()

# ---- command lines that are wrong
for words, part in (
        ([], "--gpus 1 -- COMMAND"),
        (["--gpus", "1"], "--gpus 1 -- COMMAND"),
        (["--gpus", "1", "--"], "--gpus 1 -- COMMAND"),
        (["--list", "--", "true"], "--list"),
        (["--gpus", "0", "--", "true"], "--gpus"),
        (["--gpus", "5", "--", "true"], "5 devices wanted"),
        (["--gpus", "1", "--policy", "best", "--", "true"], "first, fastest"),
        (["--gpus", "1", "--policy", "fastest", "--", "true"], "--profile"),
        (["--gpus", "1", "--wait", "5", "--", "true"], "unit"),
        (["--gpus", "1", "-o", "json", "--", "true"], "stdout")):
    done = lease(*words)
    expect(done.returncode, 2, f"exit code of lease {words}")
    expect_true(part in done.stderr, f"{words}: {part!r} in {done.stderr!r}")
    if "-o" not in words:
        expect(done.stdout, "", f"stdout of lease {words}")
done = run("lease", "--", "true", env=ENV)
expect(done.returncode, 2, "exit code without --gpus and without -d")
done = lease("--gpus", "1", "--policy", "idle", "--", "true")
expect(done.returncode, 4, "exit code of idle on simulated devices")
done = run("lease", "--gpus", "1", "-d", FOUR, "--directory", "/no/such",
           "--", "true", env=ENV)
expect(done.returncode, 3, "exit code without the folder")
expect_true("/no/such" in done.stderr, f"the folder named: {done.stderr}")

# ---- held: told, waited for
first = start("--gpus", "3", "--", "sleep", "60")
until("three are held", lambda: held("GPU-c"))
# It claims, and then starts the command.
until("the command is named, not the wrapper",
      lambda: states()["GPU-a"]["pid"] not in (None, first.pid))
row = states()["GPU-a"]
command = int(subprocess.run(["pgrep", "-P", str(first.pid)],
                             capture_output=True, text=True).stdout or 0) \
    if os.path.exists("/usr/bin/pgrep") else row["pid"]
expect(row["pid"], command, "the process named")
until("its name", lambda: states()["GPU-a"]["command"] == "sleep")
expect_true(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", row["since"]),
            f"since: {row['since']}")
expect(states()["GPU-d"]["state"], "free", "the fourth")
done = lease("--gpus", "2", "--", "true")
expect(done.returncode, 3, "exit code of too few")
expect_true(f"2 wanted, 1 free of 4; held: GPU-a by process {row['pid']} "
            in done.stderr, done.stderr)
begin = time.monotonic()
done = lease("--gpus", "2", "--wait", "300ms", "--", "true")
took = time.monotonic() - begin
expect(done.returncode, 5, "exit code at the deadline")
expect_true(0.3 <= took < 5, f"waited {took:.2f} s of 300 ms")
waiter = start("--gpus", "2", "--wait", "1m", "--", "sh", "-c",
               "echo $CUDA_VISIBLE_DEVICES")
time.sleep(0.2)
first.terminate()
expect(first.wait(20), 128 + signal.SIGTERM, "a wrapper that is terminated")
# The three come free one after the other, so it may get any two, in order.
got = waiter.communicate(timeout=20)[0].strip().split(",")
expect(len(got), 2, f"how many the waiter gets then: {got}")
expect_true(got == sorted(set(got)) and
            set(got) <= {"GPU-a", "GPU-b", "GPU-c", "GPU-d"},
            f"which the waiter gets then: {got}")

# ---- the forms of a list
LIST = ["lease", "--list", "-d", FOUR]
rows = list(csv.DictReader(io.StringIO(run(*LIST, "-o", "csv",
                                           env=ENV).stdout)))
expect([r["uuid"] for r in rows], ["GPU-a", "GPU-b", "GPU-c", "GPU-d"], "csv")
expect({r["state"] for r in rows}, {"free"}, "states in csv")
lines = [document(line)
         for line in run(*LIST, "-o", "jsonl", env=ENV).stdout.splitlines()]
expect([line["type"] for line in lines],
       ["document", "folder", "lease", "lease", "lease", "lease", "end"],
       "jsonl")
expect_true("| GPU-d | free |" in run(*LIST, "-o", "md", env=ENV).stdout, "md")
table = run(*LIST, env=ENV).stdout
expect_true(f"# folder {FOLDER.name}" in table and "GPU-d  free" in table,
            f"the table: {table}")
done = ask("lease", "--list", "-d", "host:0", code=4, env=ENV)
expect(done["error"]["status"], "unsupported", "a host")
os.mkfifo(os.path.join(FOLDER.name, "GPU-x.lease"))
row = states("sim:0/uuid=GPU-x")["GPU-x"]
expect(row["state"], "refused", "a planted pipe")
expect_true("GPU-x.lease" in row["reason"] and "pipe" in row["reason"],
            f"its reason: {row['reason']}")
with tempfile.TemporaryDirectory() as other:
    path = os.path.join(other, "lease.json")
    expect(lease("--gpus", "1", "-q", "--out", path, "--", "sh", "-c",
                 "exit 3").returncode, 3, "exit code beside a document")
    with open(path, encoding="utf-8") as file:
        got = document(file.read())
    expect(got["status"], "ok", "status of the document")
    expect(got["lease"]["job_exit_code"], 3, "the command's code in it")
    expect(got["lease"]["mask"], "GPU-a", "the mask in it")
    expect(got["lease"]["simulated"], True, "simulated, in it")

done = lease("--gpus", "1", "-q", "--out", "/dev/full/x.json", "--", "true")
expect(done.returncode, 3, "exit code where the document has no place")

# ---- signals
TRAP = ("trap 'echo got {0}; exit 9' {0}; echo ready; "
        "for i in $(seq 400); do sleep 0.05; done")
for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"):
    job = start("--gpus", "1", "--", "sh", "-c", TRAP.format(name))
    expect(job.stdout.readline(), "ready\n", "the command runs")
    job.send_signal(getattr(signal, f"SIG{name}"))
    expect(job.stdout.read(), f"got {name}\n", f"SIG{name} forwarded")
    expect(job.wait(20), 9, f"exit code after SIG{name}")
    job.communicate()
expect(held(), False, "held after signals")


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


job = start("--gpus", "1", "--", "sh", "-c",
            "echo $$; exec sleep 60", first=os.setpgrp)
child = int(job.stdout.readline())
job.send_signal(signal.SIGTSTP)
until("both stop", lambda: state_of(job.pid) == state_of(child) == "T")
expect(held(), True, "held while stopped")
job.send_signal(signal.SIGCONT)
until("both go on", lambda: state_of(child) == "S")
job.terminate()
expect(job.wait(20), 128 + signal.SIGTERM, "and end")
job.communicate()

# Ctrl-C of a terminal goes to the whole group: not twice to the command.
COUNT = ("import signal,time,sys\nn=0\n"
         "def f(*a):\n global n\n n+=1\n"
         "signal.signal(signal.SIGINT,f)\nprint('ready',flush=True)\n"
         "end=time.time()+20\n"
         "while n==0 and time.time()<end: time.sleep(0.01)\n"
         "time.sleep(0.3)\nprint('times',n,flush=True)\n")


def interrupt_at_terminal():
    """What the command says after one Ctrl-C, and the wrapper's exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(ENV)
        os.execv(BENCH, [BENCH, "lease", "-q", "-d", ONE, "--", sys.executable,
                         "-c", COUNT])
    said = b""
    try:
        while b"ready" not in said:
            said += os.read(terminal, 4096)
        os.write(terminal, b"\x03")
        while True:
            said += os.read(terminal, 4096)
    except OSError:
        pass  # nobody has it open any more
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)  # which would hang up on who is still there
    return said, code


if os.path.exists("/dev/pts/ptmx"):
    said, code = interrupt_at_terminal()
    expect_true(b"times 1" in said, f"SIGINTs after one Ctrl-C: {said!r}")
    expect(code, 0, "and its code")
else:
    print("not tried on a terminal: this system has no /dev/pts")

# ---- the wrapper dies, the job lives; then the job dies
for round in range(3):
    job = start("--gpus", "1", "--", "sh", "-c",
                "(echo $$; exec sleep 60) & echo $!; exec sleep 0.01")
    expect(job.wait(20), 0, "a command that leaves something behind")
    pids = [int(job.stdout.readline()) for _ in range(2)]
    expect(held(), True, "the lease lives on with what it left behind")
    os.kill(max(pids), signal.SIGKILL)
    until("the lease ends with it", lambda: not held())
    job.communicate()
job = start("--gpus", "1", "--", "sh", "-c", "echo $$; exec sleep 60")
child = int(job.stdout.readline())
until("the command named", lambda: states()["GPU-a"]["pid"] == child)
job.kill()
job.wait(20)
row = states()["GPU-a"]
expect((row["state"], row["pid"]), ("held", child), "after a killed wrapper")
expect(lease("-q", "--", "true", spec=ONE).returncode, 3,
       "a claim after a killed wrapper")
os.kill(child, signal.SIGKILL)
begin = time.monotonic()
expect(lease("-q", "--wait", "10s", "--", "true", spec=ONE).returncode, 0,
       "a claim after the killed job")
job.communicate()

# ---- SIGCHLD ignored, and a closed standard input
done = subprocess.run(
    ["sh", "-c", 'trap "" CHLD; exec "$@"', "sh", BENCH, "lease", "-q", "-d",
     ONE, "--", "sh", "-c", "exit 6"], env={**os.environ, **ENV}, timeout=60)
expect(done.returncode, 6, "exit code with SIGCHLD ignored")
done = subprocess.run(
    ["sh", "-c", 'exec "$@" <&-', "sh", BENCH, "lease", "-q", "-d", ONE, "--",
     "sh", "-c", "exit 6"], env={**os.environ, **ENV}, timeout=60)
expect(done.returncode, 6, "exit code with stdin closed")
expect([row["state"] for row in states().values()], ["free"] * 4,
       "all free at the end")
end()
