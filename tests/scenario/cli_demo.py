"""The demo: what it promises besides speed, and what it leaves behind."""
import os
import sys
import tempfile
from xml.dom import minidom

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
from program import ask, document, end, expect, expect_true, gpus, run

RULES = ["equal", "single", "proportional", "finish"]

missing = ask("demo", "--out", "/nowhere/at/all", code=3)
expect_true("/nowhere/at/all" in missing["error"]["text"], "missing folder")

with tempfile.TemporaryDirectory() as folder:
    done = run("--out", folder, "--budget", "1s", "--progress", "jsonl",
               env={"CUDA_VISIBLE_DEVICES": ""})  # whatever GPUs there are
    expect(done.returncode, 0, f"exit code of the demo: {done.stderr[-300:]}")
    expect(sorted(os.listdir(folder)), ["hdp-demo.json", "hdp-demo.svg"],
           "files left behind")
    with open(os.path.join(folder, "hdp-demo.json"), encoding="utf-8") as file:
        got = document(file.read())
    with open(os.path.join(folder, "hdp-demo.svg"), encoding="utf-8") as file:
        picture = file.read()

# the figures
expect(got["status"], "ok", "status")
expect([r["rule"] for r in got["results"]], RULES, "rules measured")
expect(got["check"]["ok"], True, "gradients")
expect_true(0 < got["check"]["max_rel_error"] <= got["check"]["tolerance"],
            f"error of the gradients: {got['check']}")
expect(sorted(got["check"]["rules"]), sorted(RULES), "rules checked")
for result in got["results"]:
    expect(sum(result["shares"]), got["plan"]["total"],
           f"items of {result['rule']}")
    expect_true(result["step_ns"]["n"] >= 8, "rounds")
    expect(len(result["step_ns"]["samples"]), result["step_ns"]["n"],
           "samples")
equal, single = got["results"][0], got["results"][1]
expect(equal["shares"][0], equal["shares"][1], "equal shares")
expect(single["shares"][1], 0, "the single device")
expect_true(got["plan"]["shares"][0] > got["plan"]["shares"][1] > 0,
            f"the slowed member gets less: {got['plan']['shares']}")
expect_true(1 <= len(got["runs"]) <= 3, "runs")
for curve in got["curves"]:
    expect_true(len(curve["together"]) >= 3, "points of a curve")
    items = [point[0] for point in curve["together"]]
    expect(items, sorted(set(items)), "sizes ascend")

# training: the same network under every rule
right = got["training"]["right"]
expect(got["training"]["test_images"], 297, "test images")
expect_true(max(right.values()) - min(right.values()) <= 1,
            f"test images right: {right}")
expect_true(min(right.values()) > 297 * 0.85, f"the network learns: {right}")

# the declared slowdown in words, everywhere
expect(got["devices"][0]["slowdown"], None, "the first member")
expect_true("declared" in got["devices"][1]["slowdown"], "in the document")
expect_true("declared" in done.stdout, "on the screen")
expect_true("declared" in picture, "in the picture")
expect_true(len(done.stdout.splitlines()) <= 40, "one screen")

# the picture
svg = minidom.parseString(picture).documentElement
texts = ["".join(node.data for node in text.childNodes
                 if node.nodeType == node.TEXT_NODE)
         for text in svg.getElementsByTagName("text")]
expect_true("equal" in texts and "finish" in texts, f"rules drawn: {texts}")
if "equal" in texts and "finish" in texts:
    expect_true(texts.index("equal") < texts.index("finish"),
                "equal stands above finish")
median = {result["rule"]: result["step_ns"]["median"] / 1e6
          for result in got["results"]}
title = f"{median['equal']:.1f} ms becomes {median['finish']:.1f} ms"
expect_true(any(text.endswith(title) for text in texts),
            f"the picture's title says what the table does, '{title}': {texts}")
expect_true("url(#idle)" in picture, "idle time is hatched")
expect_true("href" not in picture and "@import" not in picture,
            "the picture needs nothing else")
for line in done.stderr.splitlines():
    if line.startswith("{"):
        document(line)

# on the GPUs of this machine, where it has some that are free
if gpus():
    with tempfile.TemporaryDirectory() as folder:
        got = ask("demo", "--out", folder, "--budget", "200ms")
    expect((got["status"], [r["rule"] for r in got.get("results", [])]),
           ("ok", RULES), "the demo on GPUs")
    expect(got["check"]["ok"], True, "gradients of GPUs")
    expect_true("cuda" in [d["backend"] for d in got["devices"]],
                f"GPUs are members: {got['devices']}")
end()
