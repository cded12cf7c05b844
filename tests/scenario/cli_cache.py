"""--cache FILE: what was measured before is taken from there, and why not is
said in the table, in the document and, where it is a doubt, on stderr."""
import os
import stat
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "cli"))
from program import ask, end, expect, expect_true, run

PAIR = "sim:0/uuid=A/item=10us+sim:1/uuid=B/item=30us"

with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "made", "cache")

    # ---- a miss, then hits of every command that measures
    first = ask("calibrate", "-d", PAIR, "--cache", file)
    expect(first["cache"]["file"], file, "the file")
    expect(first["cache"]["hit"], False, "the first answer")
    expect(first["cache"]["told"], [f"{file}: miss: no such file yet"], "why")
    expect(first["warnings"], [], "warnings of a first run")
    expect(stat.S_IMODE(os.stat(file).st_mode), 0o600, "mode of the file")
    second = ask("calibrate", "-d", PAIR, "--cache", file)
    expect(second["cache"]["hit"], True, "the second answer")
    expect_true(second["cache"]["told"][0].startswith(
        f"{file}: hit: 2 members, measured "), second["cache"]["told"])
    expect(second["profile"]["ended_by"], "given", "ended_by")
    expect(second["profile"]["elapsed_ns"], 0, "elapsed_ns")
    for key in ("rate", "ratio", "points", "samples", "spread"):
        expect([m[key] for m in second["profile"]["members"]],
               [m[key] for m in first["profile"]["members"]], key)
    plan = ask("split", "-d", PAIR, "-N", "100", "--cache", file)
    expect(plan["cache"]["hit"], True, "split's answer")
    expect(plan["plan"]["shares"], [75, 25], "split's shares")
    ran = ask("run", "-d", PAIR, "-N", "100", "--steps", "1", "--probe", "gemm",
              "--cache", file)
    expect(ran["cache"]["hit"], True, "run's answer")

    # ---- another dtype is another question; a table says so
    table = run("calibrate", "-d", PAIR, "--dtype", "bf16", "--cache", file)
    expect(table.returncode, 0, "exit code")
    expect_true(": miss: sim:0/item=10us/uuid=A: dtype was f32, is bf16\n"
                in table.stdout or
                ": miss: sim:0/uuid=A: dtype was f32, is bf16\n"
                in table.stdout, table.stdout)
    expect(table.stderr, "", "stderr of an ordinary miss")

    # ---- a doubt is one warning, and never a failure
    with open(file, "r+b") as damaged:
        damaged.seek(40)
        damaged.write(b"!")
    table = run("calibrate", "-d", PAIR, "--cache", file)
    expect(table.returncode, 0, "exit code with a damaged file")
    expect(table.stderr.count("warning: cache: "), 1, "warnings")
    expect_true("damaged" in table.stderr, table.stderr)
    os.chmod(file, 0o660)
    got = ask("calibrate", "-d", PAIR, "--cache", file)
    expect(got["cache"]["hit"], False, "a file that others may write")
    expect(len(got["warnings"]), 1, "warnings")
    got = ask("calibrate", "-d", PAIR, "--cache", folder + "/no/such/file")
    expect(len(got["warnings"]), 1, "warnings about a missing folder")

    # ---- a file to be used is named
    table = run("calibrate", "-d", PAIR, "--cache", "")
    expect(table.returncode, 2, "exit code without a name")
end()
