#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast, and how does it grow?

In: the build folder, with bench/repeat, bench/insert and bench/measure in it.  BENCH_ROUNDS rounds (3),
in each of which every command has its turn at every size, so that what slows the machine down for a
while slows all of them; sizes are 1, 2, 4 and 8 eighths of BENCH_RECORDS records (10 million) of
dom0-forks, repeated.  BENCH_BEFORE: the xenfault of an older build, to compare with.  BENCH_HUGE: so many
records, at least twice BENCH_RECORDS, through a pipe, once.
Out: a table (Markdown).  Seconds and ratios are the median, with least and most; ratios are those within a
round, of CPU time beside those of the clock, which other work on the machine blurs less.  The exponent is
the slope of log CPU time over log size: 1 is linear.
"""
import datetime
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, sys.argv[1] if len(sys.argv) > 1 else "build")
BENCH = os.path.join(BUILD, "bench")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", 3))
RECORDS = int(os.environ.get("BENCH_RECORDS", 10_000_000))
BEFORE = os.environ.get("BENCH_BEFORE")
HUGE = int(os.environ.get("BENCH_HUGE", 0))
XENFAULT = os.path.join(BUILD, "xenfault")
SIZES = (1, 2, 4, 8)
os.environ["PATH"] += ":/usr/sbin:/usr/lib/xen-4.17/bin"

# name: command; {t} the trace, {d} the database of the round's import, {o} a file to write, which is not there
COMMANDS = {
    "import": [XENFAULT, "import", "--force", "-o", "{d}", "{t}"],
    "import, a pipe": ["sh", "-c", f"cat {{t}} | {XENFAULT} import -o {{o}} -"],
    "import by INSERT": [os.path.join(BENCH, "insert"), "{t}", "{o}"],
    "analyze": [XENFAULT, "analyze", "{d}"],
    "info": [XENFAULT, "info", "{d}"],
    "info of a trace": [XENFAULT, "info", "{t}"],
    "events of a trace": [XENFAULT, "events", "{t}"],
    "events, csv": [XENFAULT, "events", "--format", "csv", "{d}"],
    "events, jsonl": [XENFAULT, "events", "--format", "jsonl", "{d}"],
    "forks": [XENFAULT, "forks", "{d}"],
    "pages": [XENFAULT, "pages", "{d}"],
    "spurious": [XENFAULT, "spurious", "{d}"],
    "flushes": [XENFAULT, "flushes", "{d}"],
    "policy": [XENFAULT, "policy", "{d}"],
    "diff": [XENFAULT, "diff", "{d}", "{d}"],
    "report": [XENFAULT, "report", "--force", "-o", "{o}", "{d}"],
    "export, perfetto": [XENFAULT, "export", "--to", "perfetto", "--force", "-o", "{o}", "{d}"],
    "record": [XENFAULT, "record", "-o", "{o}", "--via", "cat {t}"],
    "tui, first screen": [XENFAULT, "tui", "{d}", "--script", ""],
    "tui, search without a match": [XENFAULT, "tui", "{d}", "--script", "3/7f00000f<Enter>"],
    "reader alone": [XENFAULT, "sql", "{t}", "SELECT count(*) FROM xentrace"],
}
if BEFORE:
    COMMANDS["import before"] = [BEFORE, "import", "--force", "-o", "{o}", "{t}"]
if shutil.which("xenalyze"):
    COMMANDS["xenalyze --summary"] = ["xenalyze", "--summary", "{t}"]
    COMMANDS["xenalyze --dump-all"] = ["xenalyze", "--dump-all", "{t}"]

# what, of what, to what, must, goal
TARGETS = (
    ("import", "xenalyze --summary", 1.3, 1.0),
    ("import", "import by INSERT", None, None),
    ("import", "import before", None, None),
    ("record", "import before", 1.0, None),
    ("record", "import", None, None),
    ("analyze", "import", 1.0, 0.7),
    ("events of a trace", "xenalyze --dump-all", 0.33, 0.15),
    ("events, csv", "events of a trace", 1.2, None),
    ("events, jsonl", "events of a trace", None, None),
)
# at the full size, as little as other work allows
LIMITS = (("info", 0.1), ("report", 1.0), ("tui, first screen", 2.0), ("tui, search without a match", 2.0))
MEMORY = 64  # MiB, of what has no bound but the trace's
BOUNDED = ("import", "import, a pipe", "record", "analyze", "report", "events of a trace", "events, csv")


def trace_of(size):
    path = os.path.join(BENCH, f"trace-{RECORDS}-{size}.bin")
    short = os.path.join(BENCH, "dom0-forks.bin")
    if not os.path.exists(path):
        subprocess.run(["zstd", "-qdf", os.path.join(TOP, "tests/traces/dom0-forks.bin.zst"), "-o", short],
                       check=True)
        with open(path + ".part", "wb") as file:
            subprocess.run([os.path.join(BENCH, "repeat"), short, str(RECORDS * size // max(SIZES))],
                           stdout=file, check=True)
        os.rename(path + ".part", path)
    return path


def run(command):
    """Seconds, KiB and CPU seconds."""
    done = subprocess.run([os.path.join(BENCH, "measure")] + command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: status {done.returncode}: {done.stderr}"
    return [float(word) for word in done.stdout.split()]


def measure(name, size):
    names = {"{t}": trace_of(size), "{d}": os.path.join(BENCH, f"bench-{size}.db"),
             "{o}": os.path.join(BENCH, "out")}
    command = COMMANDS[name]
    for short, path in names.items():
        command = [word.replace(short, path) for word in command]
    # to throw a file away takes time as well, which is not the command's
    for path in [names["{o}"]] + [names["{d}"]] * (name == "import"):
        if os.path.exists(path):
            os.remove(path)
    figures = run(command)
    if os.path.exists(names["{o}"]):
        os.remove(names["{o}"])
    return figures


def exponent(medians):
    """Least squares over the logarithms."""
    x = [math.log(size) for size in medians]
    y = [math.log(max(seconds, 1e-4)) for seconds in medians.values()]
    mx, my = statistics.mean(x), statistics.mean(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)


def show(results):
    full = max(SIZES)
    cpus = os.cpu_count()
    print(f"{datetime.date.today()}, {platform.machine()}, {cpus} CPUs, {ROUNDS} rounds, {RECORDS} records\n")
    print("| command | seconds | least to most | CPU | MiB | exponent |\n|---|---|---|---|---|---|")
    for name in COMMANDS:
        medians = {s: statistics.median(r[2] for r in results[name, s]) for s in SIZES}
        walls = [r[0] for r in results[name, full]]
        mib = max(r[1] for r in results[name, full]) / 1024
        # what takes milliseconds has no slope that means anything
        slope = f"{exponent(medians):.2f}" if medians[full] > 0.1 else "-"
        print(f"| {name} | {statistics.median(walls):.2f} | {min(walls):.2f} to {max(walls):.2f}"
              f" | {medians[full]:.2f} | {mib:.0f} | {slope} |")
    print("\n| ratio | median | least to most | of CPU | must | goal |\n|---|---|---|---|---|---|")
    for name, to, must, goal in TARGETS:
        if to not in COMMANDS:
            continue
        pairs = list(zip(results[name, full], results[to, full]))
        ratios = [a[0] / b[0] for a, b in pairs]
        cpu = statistics.median(a[2] / b[2] for a, b in pairs)
        middle = statistics.median(ratios)
        verdict = "" if must is None else f"{must} {'reached' if middle <= must else 'MISSED'}"
        print(f"| {name} / {to} | {middle:.2f} | {min(ratios):.2f} to {max(ratios):.2f} | {cpu:.2f}"
              f" | {verdict} | {goal or ''} |")
    for name, limit in LIMITS:
        seconds = [r[2] for r in results[name, full]]
        middle = statistics.median(seconds)
        print(f"| {name}, CPU seconds | {middle:.2f} | {min(seconds):.2f} to {max(seconds):.2f} | |"
              f" {limit} {'reached' if middle <= limit else 'MISSED'} | |")
    most = max((max(r[1] for r in results[name, full]) / 1024, name) for name in BOUNDED)
    print(f"| memory at the most, MiB | {most[0]:.0f} | {most[1]} | |"
          f" {MEMORY} {'reached' if most[0] <= MEMORY else 'MISSED'} | |")


def huge(results):
    """More than fits anywhere, through a pipe: as long for each record, and no more memory."""
    short, out = os.path.join(BENCH, "dom0-forks.bin"), os.path.join(BENCH, "out")
    seconds, kib, cpu = run(["sh", "-c", f"{os.path.join(BENCH, 'repeat')} {short} {HUGE} | {XENFAULT} import -o {out} -"])
    os.remove(out)
    # the generator's own time is in it
    once = statistics.median(r[2] for r in results["import, a pipe", max(SIZES)])
    print(f"\n{HUGE} records through a pipe: {seconds:.0f} s, {cpu:.0f} s CPU, {kib / 1024:.0f} MiB at the most;"
          f" exponent {math.log(cpu / once) / math.log(HUGE / RECORDS):.2f}")


def main():
    results = {}
    for number in range(ROUNDS):
        for size in SIZES:
            for name in COMMANDS:
                if sys.stderr.isatty():
                    print(f"\rround {number + 1} of {ROUNDS}, {size}/8: {name:30}", end="", file=sys.stderr)
                results.setdefault((name, size), []).append(measure(name, size))
    for size in SIZES:
        os.remove(os.path.join(BENCH, f"bench-{size}.db"))
    show(results)
    if HUGE:
        huge(results)


main()
