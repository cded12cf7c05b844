"""The faults that are survived, each by a named test: reads faults.tsv.

    faults.py                    each test stands in its source and is run
    faults.py --self-test        the same check finds what is planted
    faults.py --run BUILD        runs them in a build folder: a table
    faults.py --log FILE         the table of a log of ctest that has run
"""
import collections
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
Row = collections.namedtuple("Row", "id fault outcome program test")

# What must have a test: faults by number, cases of users as O and a number.
WANTED = [f"F{i:02}" for i in [*range(1, 16), *range(19, 28), 49, 50, 54]]
WANTED += [f"O{i:02}" for i in [1, 2, 3, 4, 11, 12, 14, 21, 23, 24]]
OUTCOMES = {"OK", "RETRY", "GROUP", "PROCESS", "REFUSE"}


def rows(text):
    return [Row(*(line.split("\t") + [""] * 5)[:5])
            for line in text.splitlines() if line and line[0] != "#"]


# ---- the table against the sources ---------------------------------------------

def source(row):
    """The text of a test's program, "" where there is none; its language."""
    kind, *names = row.program.split(".")
    folder = {"fake": "scenario"}.get(kind, kind)
    name = names[-1] if kind == "fake" else names[0] if names else ""
    for end in "c", "py":
        path = os.path.join(HERE, folder, f"{name}.{end}")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return file.read(), end
    return "", ""


def stands(row):
    """A function of that name stands in the source, and is called."""
    text, end = source(row)
    name = re.escape(row.test)
    if end == "c":
        return (re.search(rf"^static void {name}\(void \*\*", text, re.M) and
                re.search(rf"cmocka_unit_test\w*\(\s*{name}\b", text))
    return end == "py" and (re.search(rf"^def {name}\(", text, re.M) and
                            re.search(rf"^ *{name}\(", text, re.M))


def check(table):
    """What is wrong with the table, a line each."""
    wrong = [f"{name}: no test" for name in WANTED
             if name not in {row.id for row in table}]
    for row in table:
        what = f"{row.id}: {row.program} {row.test}"
        if row.id not in WANTED or not row.fault:
            wrong.append(f"{what}: a line that says nothing")
        if row.outcome not in OUTCOMES:
            wrong.append(f"{what}: outcome '{row.outcome}'")
        if not row.test or not stands(row):
            wrong.append(f"{what}: no such test is run")
    if [row.id for row in table] != sorted(row.id for row in table):
        wrong.append("not in order of ids")
    return wrong


def self_test(table):
    """Each planted mistake is the only one found."""
    first = table[0]
    gone = [row for row in table if row.id != first.id]
    for what, planted in (
            ("no test", gone),
            ("outcome", [first._replace(outcome="FINE"), *table]),
            ("no such test", [first._replace(test="never_written"), *table]),
            ("no such test", [first._replace(program="cuda.none"), *table]),
            ("says nothing", [first._replace(fault=""), *table]),
            ("not in order", [*table, first])):
        found = check(planted)
        if len(found) != 1 or what not in found[0]:
            sys.exit(f"planted \"{what}\", found: {found}")
    return []


# ---- what became of them --------------------------------------------------------

def outcomes(log):
    """Of each program its verdict, and of each of its functions."""
    found = {}
    for part in re.split(r"^\d+/\d+ Testing: ", log, flags=re.M)[1:]:
        name = part.split("\n", 1)[0].strip()
        verdict = re.search(r"^Test (Passed|Failed|Skipped)|^Test timeout",
                            part, re.M)
        passed = verdict is not None and verdict.group(1) == "Passed"
        found[name] = passed, set(re.findall(r"^\[ +OK +\] (\w+)", part, re.M))
    return found


def verdict(row, found):
    if row.program not in found:
        return "not run"
    passed, functions = found[row.program]
    if not passed:
        return "NO"
    if source(row)[1] == "c" and row.test not in functions:
        return "not run"
    return "yes"


def run(folder, table):
    programs = "|".join(sorted({re.escape(row.program) for row in table}))
    subprocess.run(["ctest", "-R", f"^({programs})$", "-j2", "--timeout", "300"],
                   cwd=folder, check=False, stdout=subprocess.DEVNULL)
    return os.path.join(folder, "Testing", "Temporary", "LastTest.log")


def show(table, found):
    """Prints the table; the lines that did not pass."""
    wrong = []
    for row in table:
        got = verdict(row, found)
        print(f"{row.id}  {row.outcome:7}  {got:7}  {row.program}: {row.test}"
              f"\n     {row.fault}")
        if got != "yes":
            wrong.append(f"{row.id}: {row.program} {row.test}: {got}")
    print(f"{len({row.id for row in table})} faults, {len(table)} tests, "
          f"{len(table) - len(wrong)} passed")
    return wrong


def main(words):
    with open(os.path.join(HERE, "faults.tsv"), encoding="utf-8") as file:
        table = rows(file.read())
    wrong = check(table)
    if not wrong and words[:1] == ["--self-test"]:
        wrong = self_test(table)
    elif not wrong and words[:1] in (["--run"], ["--log"]) and len(words) == 2:
        path = run(words[1], table) if words[0] == "--run" else words[1]
        with open(path, encoding="utf-8", errors="replace") as file:
            wrong = show(table, outcomes(file.read()))
    elif words and not wrong:
        sys.exit(__doc__)
    sys.exit("\n".join(wrong) if wrong else 0)


main(sys.argv[1:])
