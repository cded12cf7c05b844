"""Pictures: the same bytes for the same data (golden/plot_*.svg; --update writes
those anew), XML that another parser reads, figures where they belong, and every
document that cannot be drawn refused in words."""
import json
import os
import random
import re
import sys
import tempfile
import xml.etree.ElementTree as tree

UPDATE = "--update" in sys.argv
if UPDATE:
    sys.argv.remove("--update")
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("HDP_SOURCE_DIR", os.path.join(HERE, "..", ".."))
DATA = os.path.join(ROOT, "tests", "data", "plots")
sys.path.insert(0, os.path.join(HERE, "cli"))
from program import ask, document, end, expect, expect_true, run

SVG = "{http://www.w3.org/2000/svg}"
ISSUE = "sim:0/fixed=500us/item=10us+sim:1/fixed=1.5ms/item=50us"
KINDS = ["timeline", "rates", "scaling", "busbw", "shares"]
# the file, and the kind that its content asks for
SAVED = {"timeline": "timeline", "predicted": "timeline", "rates": "rates",
         "scaling": "scaling", "busbw": "busbw", "shares": "shares"}


def saved(name):
    with open(os.path.join(DATA, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def number(element, key):
    return float(element.get(key))


def inside(root, what):
    """No coordinate is off the sheet, no number is none."""
    wide, high = number(root, "width"), number(root, "height")
    for element in root.iter():
        for keys, most in ((("x", "x1", "x2", "cx"), wide),
                           (("y", "y1", "y2", "cy"), high)):
            for key in keys:
                if element.get(key):
                    expect_true(-0.1 <= number(element, key) <= most + 0.1,
                                f"{what}: {key} of {element.attrib}")
        if element.tag == SVG + "rect" and element.get("x"):
            expect_true(number(element, "x") + number(element, "width")
                        <= wide + 0.1, f"{what}: right of {element.attrib}")
        for pair in re.findall(r"(-?[\d.]+),(-?[\d.]+)",
                               element.get("points", "")):
            expect_true(-0.1 <= float(pair[0]) <= wide + 0.1 and
                        -0.1 <= float(pair[1]) <= high + 0.1,
                        f"{what}: point {pair}")


def drawn(text, what):
    """The tree of an SVG that stands alone; None where it is none."""
    try:
        root = tree.fromstring(text.encode())
    except tree.ParseError as error:
        expect(str(error), "XML", what)
        return None
    expect(root.tag, SVG + "svg", f"{what}: the outer element")
    for word in ("href", "<script", "<image", "@import", "nan", "inf\""):
        expect_true(word not in text, f"{what}: holds {word}")
    inside(root, what)
    return root


def words(root):
    return [" ".join(" ".join(text.itertext()).split())
            for text in root.iter(SVG + "text")]


def bars(root, height):
    """x and width of the coloured bars of that height, from the top."""
    return [(number(r, "x"), number(r, "width"))
            for r in root.iter(SVG + "rect")
            if r.get("height") == height and r.get("rx") == "2"]


with tempfile.TemporaryDirectory() as folder:
    def at(name):
        return os.path.join(folder, name)

    def write(text, name="x.json"):
        mode = "wb" if isinstance(text, bytes) else "w"
        with open(at(name), mode) as file:
            file.write(text)
        return at(name)

    def plot(value, *more):
        """The finished process of a plot of this document."""
        return run("plot", write(json.dumps(value)), *more)

    def picture(value, what, *more):
        done = plot(value, *more)
        expect(done.returncode, 0, f"{what}: exit code; {done.stderr}")
        return drawn(done.stdout, what) if not done.returncode else None

    def content(name):
        with open(at(name), encoding="utf-8", newline="") as file:
            return file.read()

    # ---- byte for byte: golden, twice, to a file, in any locale
    for name, kind in SAVED.items():
        source = os.path.join(DATA, name + ".json")
        got = run("plot", source)
        expect((got.returncode, got.stderr), (0, ""), f"plot {name}")
        golden = os.path.join(HERE, "golden", f"plot_{name}.svg")
        if UPDATE:
            with open(golden, "w", encoding="utf-8", newline="") as file:
                file.write(got.stdout)
        with open(golden, encoding="utf-8", newline="") as file:
            want = file.read()
        for line, (a, b) in enumerate(zip(got.stdout.splitlines(),
                                          want.splitlines())):
            expect(a, b, f"{golden}: line {line + 1}")
        expect(len(got.stdout), len(want), f"{golden}: length")
        for env in ({}, {"LC_ALL": "de_DE.UTF-8"}, {"LC_ALL": "C"}):
            again = run("plot", source, "--kind", kind, env=env).stdout
            expect_true(again == got.stdout, f"{name}: other bytes in {env}")
        expect(run("plot", source, "--out", at("a.svg")).stdout, "",
               f"stdout beside --out {name}")
        expect_true(content("a.svg") == got.stdout, f"{name}: the file differs")
        root = drawn(got.stdout, name)
        told = words(root)
        expect_true(any("simulated" in word or "declared" in word
                        for word in told), f"{name}: simulated or slowed")

    # ---- what is drawn is what the document says
    root = picture(saved("timeline"), "timeline")
    told = words(root)
    order = [word.split()[0] for word in told
             if word.split()[0] in ("equal", "single", "finish")]
    expect(order, ["equal", "single", "finish"], "equal on top, finish below")
    expect([round(width / 672 * 39.6 * 1.02, 1)
            for x, width in bars(root, "38.0")],
           [20.7, 38.1, 39.4, 26.8, 28.7], "bars of the timeline in ms")
    expect_true("idle 17.4 ms" in told, f"the idle device: {told}")
    expect_true("declared slowdown" in told and
                "declared: works 50 % of the time, then waits (host:1)" in told,
                f"the declared slowdown: {told}")
    told = words(picture(saved("predicted"), "predicted"))
    expect_true("predicted, simulated" in told, f"a prediction: {told}")
    root = picture(saved("rates"), "rates")
    told = words(root)
    expect_true("33.0 TFLOP/s \xb1 2.0 %, ratio 0.482" in told, f"{told}")
    expect_true("cannot compute bf16" in told, f"what it lacks: {told}")
    wide = [number(r, "width") for r in root.iter(SVG + "rect")
            if r.get("height") == "28.0" and "url" not in r.get("fill")]
    expect([round(w / 400 * 33, 1) for w in wide[:3]], [25, 33, 10.5],
           "bars of the rates in TFLOP/s")
    expect(len(list(root.iter(SVG + "polyline"))), 3,
           "curves: none where each has one point")
    value = saved("rates")
    for member, copy, launch in zip(value["profile"]["members"],
                                    (420e9, 226e9, 0), (4200, 4000, 6500)):
        member.update(probe="all", copy_bytes_per_second=copy,
                      launch_ns=launch, reliable=copy != 226e9)
    told = words(picture(value, "all probes"))
    for word in ("gemm, f32", "copy inside the device", "420 GB/s", "not known",
                 "4.2 \xb5s", "6.5 \xb5s",
                 "33.0 TFLOP/s \xb1 2.0 %, ratio 0.482, unreliable"):
        expect_true(word in told, f"all probes: no '{word}' in {told}")
    expect_true(not any(word.startswith("link") for word in told),
                "links that nobody has measured")
    told = words(picture(saved("scaling"), "scaling"))
    expect_true("More devices: 303 ms becomes 234 ms with 2" in told, f"{told}")
    expect_true("what if: 204 ms" in told, f"the answer's point: {told}")
    told = words(picture(saved("busbw"), "busbw"))
    expect_true("sum, f32" in told and "weighted_mean, bf16" in told and
                "8 MiB" in told, f"busbw: {told}")
    shares = saved("shares")
    root = picture(shares, "shares")
    told = words(root)
    line = [p.get("points") for p in root.iter(SVG + "polyline")
            if p.get("stroke") == "#555555"]
    points = [[float(x) for x in p.split(",")] for p in line[0].split()]
    expect([round((x - 84) / 828 * 160) for x, y in points], [0, 100, 100, 160],
           "steps at which the optimum changes")
    bottom = 340
    expect(round((bottom - points[0][1]) / (bottom - points[-1][1]), 2),
           round(2.8 / 3.38, 2), "levels of the optimum")
    for word in ("sim:0: 89.8 %", "sim:1: 10.2 %", "sim:0 declared 2x slower",
                 "simulated, declared slowdown",
                 "160 steps, the shares changed 2 times"):
        expect_true(word in told, f"shares: no '{word}' in {told}")
    del shares["results"]  # then the plan has the first shares
    shares["steps"] = {"step_ns": shares["steps"]["step_ns"], "resplits": []}
    told = words(picture(shares, "shares without a change"))
    expect_true("160 steps, the shares changed 0 times" in told and
                "sim:0: 89.8 %" in told, f"no resplits: {told}")

    # ---- the section that split adds, by hand: 3.06 ms alone, 2.8 ms together
    got = ask("split", "-d", ISSUE, "-N", "256")["scaling"]
    expect((got["order"], got["step_ns"], got["predicted"]),
           ([0, 1], [3060000, 2800000], True), "scaling of the issue's pair")
    expect(got["ideal_ns"], [3060000, round(1 / (1 / 3.06e6 + 1 / 14.3e6))],
           "ideal of the issue's pair")
    DESK = ["split", "-d", "@desk", "-N", "256", "--reduce-bytes", "400000000"]
    got = ask(*DESK, "--bench-members")["scaling"]
    expect((got["order"], [round(ns / 1e6) for ns in got["step_ns"]]),
           ([1, 0, 2], [303, 234, 234]), "scaling of desk, benched")
    got = ask(*DESK)["scaling"]
    expect([round(ns / 1e6) for ns in got["step_ns"]], [303, 234, 325],
           "scaling of desk, all in the ring")
    got = ask("split", "-d", "sim:0/item=1us/mem=1GiB+sim:1/item=2us/mem=4GiB",
              "-N", "4", "--item-bytes", "1GiB")["scaling"]
    expect((got["order"], got["step_ns"][0]), ([0, 1], None),
           "one device alone cannot hold the batch")
    expect(ask("split", "-d", "sim:0-64/item=1us", "-N", "256").get("scaling"),
           None, "65 members")
    expect(ask("split", "-d", ISSUE, "-N", "0").get("scaling"), None, "no items")

    # ---- the commands draw what their documents do
    for kind, line in (
            ("rates", ["calibrate", "-d", ISSUE]),
            ("scaling", ["split", "-d", ISSUE, "-N", "256"]),
            ("timeline", ["split", "-d", ISSUE, "-N", "256", "--rule",
                          "equal,finish"]),
            ("timeline", ["run", "-d", ISSUE, "--work", "gemm", "-N", "256",
                          "--steps", "2", "--warmup", "0"]),
            ("busbw", ["reduce", "-d", "host:0-1/threads=1", "-e", "1K", "-n",
                       "2"])):
        done = run(*line, "--out", at("a.svg"), "--out", at("a.json"))
        expect(done.returncode, 0, f"{line[0]}: exit code; {done.stderr}")
        expect_true(run("plot", at("a.json"), "--kind", kind).stdout ==
                    content("a.svg"), f"{line[0]} --out x.svg is no {kind}")
        drawn(content("a.svg"), f"{line[0]} --out x.svg")
    run("split", "-d", ISSUE, "-N", "256", "--out", at("b.svg"))
    first = content("b.svg")
    run("split", "-d", ISSUE, "-N", "256", "--out", at("b.svg"))
    expect(content("b.svg"), first, "the same split, the same picture")
    for line in (["discover"], ["run", "-d", "host:0", "--work", "empty"]):
        got = ask(*line, "--out", at("c.svg"), code=2)
        expect_true("no picture" in got["error"]["text"], f"{got['error']}")
        expect_true(not os.path.exists(at("c.svg")), "nothing is written")
    hosts = os.path.join(ROOT, "bench", "results")
    told = words(drawn(run("plot", hosts + "/demo-host.json").stdout, "demo"))
    expect_true("declared slowdown" in told, f"the demo kept: {told}")
    got = ask("plot", hosts + "/empty-host-1.json", code=2)["error"]["text"]
    expect_true("empty-host-1.json" in got and "anything to draw" in got, got)

    # ---- a saved profile, a pipe, the other forms
    run("split", "-d", ISSUE, "-N", "8", "--out", at("s.json"))
    bare = {"schema": "hdp.profile", "schema_version": 1,
            "members": document(content("s.json"))["profile"]["members"]}
    for member in bare["members"]:
        del member["spec"]
    told = words(picture(bare, "a profile alone"))
    expect_true("rank 0" in told and "simulated" in told, f"{told}")
    with open(os.path.join(DATA, "busbw.json"), encoding="utf-8") as file:
        piped = run("plot", "-", stdin=file).stdout
    expect_true(piped == run("plot", DATA + "/busbw.json").stdout, "a pipe")
    got = ask("plot", DATA + "/shares.json", "--out", at("d.svg"))["plot"]
    expect((got["kind"], got["of"], got["kinds"]),
           ("shares", "run", ["timeline", "shares"]), "the document of plot")
    drawn(content("d.svg"), "beside the document")
    expect_true("shares.json,shares,run" in
                run("plot", DATA + "/shares.json", "-o", "csv").stdout, "csv")

    # ---- refused: the file and the fault are named, nothing is written
    def refused(text, *parts, more=(), code=2):
        path = write(text) if text is not None else at("none.json")
        got = ask("plot", path, "--out", at("no.svg"), *more, code=code)
        error = (got.get("error") or {}).get("text", "")
        for part in (path[-40:], *parts):
            expect_true(part in error, f"'{error}' does not name '{part}'")
        expect_true(not os.path.exists(at("no.svg")), f"{parts}: written")

    head = '"schema":"hdp.bench","schema_version":1,"command":"run"'
    refused(None, "No such file", code=3)
    refused("", "not JSON")
    refused("nonsense", "not JSON", "line 1")
    refused('{"a":NaN}', "not JSON")
    refused('{"a":1}{', "not JSON")
    refused('{"a":1,"a":2}', "not JSON", "duplicate")
    refused(b'{"schema":"\xff\xfe"}', "not JSON")
    for odd in ("\x1b[31m", "\x07", "\x7f", "\x9b"):
        for text in ('{"a": %sx' % odd, '{"schema":%s}' % json.dumps(odd)):
            told = run("plot", write(text)).stderr
            expect_true(odd not in told and "?" in told,
                        f"what reaches the terminal: {told!r}")
    refused("[" * 100000, "deeper than 64")
    refused('{"schema":"hdp.bench","x":' + '{"a":' * 70 + "1", "deeper")
    refused("[]", "schema")
    refused("{}", "schema")
    refused('{"schema":7}', "schema")
    refused('{"schema":"hdp.machine"}', "hdp.machine")
    refused('{"schema":"hdp.bench","schema_version":2}', "schema_version")
    refused("{%s}" % head, "run", "anything to draw")
    for kind, section in zip(KINDS, ("results", "profile", "scaling", "reduce",
                                     "steps")):
        refused("{%s}" % head, section, kind, more=("--kind", kind))
    refused('{%s,"results":[]}' % head, "anything to draw")
    refused('{%s,"results":[null]}' % head, "members")
    refused('{%s,"results":[{"rule":"equal","shares":[1],"step_ns":'
            '{"median":null}}]}' % head, "equal", "not known")
    refused('{%s,"reduce":[{"bytes":8,"busbw":null}]}' % head, "busbw")
    refused('{%s,"steps":{"step_ns":[null,null]}}' % head, "step_ns")
    refused('{%s,"steps":{"step_ns":[1],"resplits":[]}}' % head,
            "neither steps, results nor plan")
    refused('{%s,"scaling":{"step_ns":[null]}}' % head, "scaling")
    refused('{%s,"results":[{"rule":"a","shares":[1,2],"step_ns":'
            '{"median":1}},{"rule":"b","shares":[1],"step_ns":{"median":1}}]}'
            % head, "1 members")
    with open(at("big.json"), "wb") as file:
        file.truncate((64 << 20) + 2)
    got = ask("plot", at("big.json"), code=2)["error"]["text"]
    expect_true("larger than 64 MiB" in got, got)
    expect(ask("plot", folder, code=3)["status"], "environment", "a folder")
    expect_true("FILE" in ask("plot", code=2)["error"]["text"], "no file")
    expect(ask("plot", "a", "b", code=2)["status"], "usage", "two files")
    expect_true("timeline" in ask("plot", "a", "--kind", "pie",
                                  code=2)["error"]["text"], "no such kind")

    # ---- one of everything, and 64 of it; 65 are refused
    def many(count):
        simulated = {"simulated": True, "slowdown": "simulated: by a model"}
        return {
            "schema": "hdp.bench", "schema_version": 1, "command": "run",
            "devices": [{"spec": f"sim:{i}/item=1us", **simulated}
                        for i in range(count)],
            "results": [{"rule": "equal", "shares": [3] * count,
                         "member_ns": [1e6 + i for i in range(count)],
                         "step_ns": {"median": 2e6}}],
            "profile": {"members": [
                {"probe": "gemm", "dtype": "f32", "compute": "f32",
                 "rate": 1 + i, "rate_flops": 0, "ratio": 1 / count,
                 "simulated": True, "points": [[8, 1e9], [9, 2e9]]}
                for i in range(count)]},
            "scaling": {"total": 8, "order": list(range(count)),
                        "step_ns": [1e6] * count, "ideal_ns": [1e6] * count},
            "reduce": [{"bytes": 8, "busbw": 0, "dtype": "f32", "op": "sum"}],
            "steps": {"step_ns": [1e6], "resplits": []},
        }

    for kind in KINDS:
        for count in (1, 64):
            told = words(picture(many(count), f"{kind} of {count}", "--kind",
                                 kind))
            expect_true("simulated" in " ".join(told), f"{kind} of {count}")
        if kind != "busbw":
            got = plot(many(65), "--kind", kind)
            expect(got.returncode, 2, f"{kind} of 65: exit code")
            expect_true("64" in got.stderr, f"{kind} of 65: {got.stderr}")

    # ---- who is left out of the reduce has no part of it in the picture
    BIG = ["split", "-d", "@desk", "-N", "256", "--reduce-bytes", "400MB"]
    for more, blocks in ((["--bench-members"], 2), ([], 3)):
        run(*BIG, *more, "--out", at("desk.json"))
        run("plot", at("desk.json"), "--kind", "timeline", "--out",
            at("desk.svg"))
        root = drawn(content("desk.svg"), f"desk {more}")
        reduces = [r for r in root.iter(SVG + "rect") if number(r, "width") > 50
                   and r.get("fill") == "#333333"]
        expect(len(reduces), blocks, f"members in the reduce, {more}")
        expect("idle 234 ms" in words(root), blocks == 2, f"idle {more}")

    # ---- what others wrote: names for XML, figures beyond reason
    value = many(2)
    value["devices"][0]["spec"] = "<a&b>\"'\x01\x1f\ufffe\uffff]]>"
    value["devices"][1]["name"] = "\u4e2d" * 300
    value["devices"][1]["slowdown"] = "declared: " + "\u00e9" * 4000
    for kind in KINDS:
        picture(value, f"{kind} with odd names", "--kind", kind)
    value = many(2)
    value["results"][0]["step_ns"]["median"] = 9e20
    value["results"][0]["member_ns"] = [1e300, -1e300]
    value["results"][0]["shares"] = [9e20, 1e308]
    value["profile"]["members"][0].update(
        rate=1e-300, rate_flops=9e20, points=[[1e23, 1e-9], [1e-300, 1]])
    value["scaling"]["step_ns"] = [1e-9, 9e20]
    value["reduce"] = [{"bytes": 1e-200, "busbw": 9e20, "time_ns": 9e20,
                        "step_ns": {"min": 1e-300, "p95": 9e20}},
                       {"bytes": 9e20, "busbw": 1e-9}]
    value["steps"] = {"step_ns": [9e20, 1e-200], "resplits": [
        {"step": 1, "shares": [1e-300, 9e20]}, {"step": 0, "shares": "no"}],
        "disturbances": [{"step": 1, "device": 9e20, "factor": 9e20}]}
    for kind in KINDS:
        picture(value, f"{kind} with odd figures", "--kind", kind)

    # ---- changed at random: drawn well, or refused in words
    rng = random.Random(11)
    ODD = [None, -1, 0, 1e-300, 1e23, 1e300, "", "x", [], {}, [[]], True]

    def change(node):
        keys = list(node if isinstance(node, dict) else range(len(node)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(node[key], (dict, list)) and rng.random() < 0.8:
            change(node[key])
        elif rng.random() < 0.3:
            del node[key]
        else:
            node[key] = rng.choice(ODD)

    for trial in range(240):
        name = rng.choice(list(SAVED))
        value = saved(name)
        value.pop("schema_version") if trial == 0 else None
        for _ in range(rng.randint(1, 6)):
            change(value)
        done = plot(value, *(["--kind", SAVED[name]] if trial % 2 else []))
        expect_true(done.returncode in (0, 2),
                    f"trial {trial} of {name}: exit {done.returncode}")
        if done.returncode == 0:
            drawn(done.stdout, f"trial {trial} of {name}")
        else:
            expect((done.stdout, "x.json" in done.stderr), ("", True),
                   f"trial {trial} of {name}: {done.stderr}")
end()
