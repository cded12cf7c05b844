"""-o json prints one valid document on stdout and nothing else: every verb, done
or refused, with the log at its loudest and descriptors that are odd."""
import os
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "cli"))
from program import BENCH, document, end, expect, expect_true

PAIR = "sim:0/fixed=500us/item=10us+sim:1/fixed=1.5ms/item=50us"
FULL = ["split", "-d", "sim:0/item=1us/mem=1GiB", "-N", "8",
        "--item-bytes", "1GB"]
QUICK = ["--steps", "1", "--warmup", "0"]

# The command, its words, and its exit codes; None: whatever it answers, for
# what depends on the machine.
DONE = [
    ("discover", ["--machine", "@desk", "--mask", "1,x"], [0]),
    ("discover", [], [0]),
    ("calibrate", ["-d", PAIR], [0]),
    ("split", ["-d", PAIR, "-N", "256", "--rule", "finish,equal"], [0]),
    ("split", ["-d", "@desk", "-N", "256", "--add", "sim:3/item=50us"], [0]),
    ("run", ["-d", PAIR, "--work", "gemm", "-N", "64", *QUICK], [0]),
    ("run", ["-d", PAIR, "--work", "empty", "-N", "64", "--steps", "10"], [0]),
    ("reduce", ["-d", PAIR, "-e", "16", "-n", "1", "-w", "0"], [0]),
    ("doctor", [], [0]),
    ("watch", ["--count", "1"], [0]),
    ("lease", ["--list"], None),
]
REFUSED = [
    ("nonsense", [], [2]),
    ("no\x01t a w\xf6rd", [], [2]),
    ("", [], [2]),
    ("demo", ["--nonsense"], [2]),
    ("discover", ["-N", "8"], [2]),
    ("calibrate", ["-d", "sim:0/bogus=1"], [2]),
    ("split", ["-d", PAIR], [2]),
    ("split", FULL[1:], [1]),
    ("split", ["-d", "@./none.json", "-N", "8"], [3]),
    ("run", ["-d", PAIR, "--work", "magic"], [2]),
    ("run", ["-d", "sim:0/item=1us/fail=launch:1", "-N", "8", *QUICK], [4]),
    ("reduce", ["-d", PAIR, "-b", "8", "-e", "4"], [2]),
    ("lease", ["--nonsense"], None),
    ("watch", ["--nonsense"], None),
    ("plot", ["--nonsense"], None),
]


def start(command, words, form="json", **more):
    """Its messages at their loudest; deadlines so that nothing can hang."""
    return subprocess.run([BENCH, command, *words, "-o", form, "-vv"],
                          timeout=60, **more)


def check(command, codes, done, text, what):
    """One document that says which command it is of and how it ended."""
    what = f"{command!r} {what}"
    if codes is not None:
        expect_true(done.returncode in codes,
                    f"{what}: exit code {done.returncode}, expected {codes}")
    try:
        got = document(text)
    except ValueError as error:
        expect(f"{error}: {text[:200]!r}", "one document", what)
        return
    expect(got.get("schema"), "hdp.bench", f"{what}: schema")
    expect(got.get("schema_version"), 1, f"{what}: schema_version")
    expect(got.get("command"), command, f"{what}: command")
    expect(got.get("status") == "ok", done.returncode == 0,
           f"{what}: status {got.get('status')} of exit code "
           f"{done.returncode}")
    expect((got.get("error") or {}).get("exit_code", 0), done.returncode,
           f"{what}: exit code in the document")


def into(file, command, words, **more):
    """What a file held after stdout went there."""
    done = start(command, words, stdout=file, **more)
    file.seek(0)
    return done, file.read().decode()


# ---- every command and kind of failure, through a pipe
for command, words, codes in DONE + REFUSED:
    done = start(command, words, capture_output=True)
    check(command, codes, done, done.stdout.decode(), words)
    if done.returncode == 2:
        expect_true(done.stderr, f"{command!r} {words}: a silent refusal")
loud = start("discover", [], capture_output=True).stderr
expect_true(b"log: discover: " in loud, f"the log is on stderr: {loud!r}")

# ---- stdout is another thing, or stderr is none
SOME = [DONE[3], DONE[5], REFUSED[0], REFUSED[7]]
for command, words, codes in SOME:
    with tempfile.TemporaryFile() as file:
        done, text = into(file, command, words, stderr=subprocess.DEVNULL)
        check(command, codes, done, text, "into a file")
    with tempfile.TemporaryFile() as file:
        file.write(b"before\n")
        file.flush()
        done = start(command, words, stdout=file, stderr=subprocess.DEVNULL)
        file.seek(0)
        text = file.read().decode()
        expect_true(text.startswith("before\n"), f"{command}: what was there")
        check(command, codes, done, text[7:], "behind other text")
    for name, lost in (("closed", lambda: os.close(2)),
                       ("full", lambda: os.dup2(os.open("/dev/full",
                                                        os.O_WRONLY), 2)),
                       ("and stdin closed", lambda: (os.close(2),
                                                     os.close(0)))):
        done = start(command, words, stdout=subprocess.PIPE, preexec_fn=lost)
        check(command, codes, done, done.stdout.decode(), f"stderr {name}")
    here, there = socket.socketpair()
    with here, there:
        done = start(command, words, stdout=there, stderr=subprocess.DEVNULL)
        there.close()
        text = b"".join(iter(lambda: here.recv(65536), b"")).decode()
        check(command, codes, done, text, "into a socket")

    # nobody can read it: no hang, no crash, and the exit code says so
    for name, lost, code in (
            ("closed", lambda: os.close(1), codes),
            ("full", lambda: os.dup2(os.open("/dev/full", os.O_WRONLY), 1),
             [3] if codes == [0] else codes),
            ("for reading", lambda: os.dup2(os.open("/dev/null", os.O_RDONLY),
                                            1),
             [3] if codes == [0] else codes)):
        done = start(command, words, preexec_fn=lost, stderr=subprocess.PIPE)
        expect_true(done.returncode in code,
                    f"{command!r} with stdout {name}: exit code "
                    f"{done.returncode}, expected {code}")
        expect_true(b'"schema"' not in done.stderr,
                    f"{command!r} with stdout {name}: json on stderr")

# ---- the other forms name the command as well
for form in ("jsonl", "csv"):
    done = start("nonsense", [], form=form, capture_output=True)
    expect_true(b"nonsense" in done.stdout, f"{form}: {done.stdout!r}")

# ---- the tour, which passes its deadline (whole it is another test's)
with tempfile.TemporaryDirectory() as folder:
    done = start("demo", ["--out", folder, "--timeout", "1us"],
                 capture_output=True)
    check("demo", [5], done, done.stdout.decode(), "too late")
end()
