#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows the recipes of docs/architecture.md on a copy of the tree, and looks for what they promise.

A step is "`FILE`, before `TEXT`" or "`FILE`, a new file", and then a block in fences: what is
written before the line that holds TEXT, or into the file.  The copy is built once, with all of them.
"""
import functools
import os
import re
import shutil
import subprocess
from collections import defaultdict

import synth
from lib import TOP, WORK, case, equal, finish, unpack

TREE = os.path.join(WORK, "tree")
FOLDERS = ("common", "schemas", "collector", "analyzer", "cli", "tui", "man", "completions", "docs",
           "examples")
STEP = re.compile(r"^(?:\d\. |   )`([^`]+)`, (?:before (`|\")(.+?)\2(?=[\s:.,(])|a new file)"
                  r".*?^   ```\w*\n(.*?)^   ```$", re.M | re.S)
DOCUMENT = os.path.join(TOP, "docs", "architecture.md")


@functools.cache
def recipes():
    """{heading: [(file, line to find or "" for a new file, text)]}"""
    with open(DOCUMENT, encoding="utf-8") as file:
        part = file.read().split("\n## Recipes\n")[1].split("\n## ")[0]
    found = defaultdict(list)
    for section in part.split("\n### ")[1:]:
        heading = section.splitlines()[0]
        found[heading] = [(m[1], m[3] or "", re.sub(r"^   ", "", m[4], flags=re.M)) for m in STEP.finditer(section)]
        equal(len(found[heading]), len(re.findall(r"^   ```", section, re.M)) // 2, f"steps that are understood in: {heading}")
    return found


def follow(path, anchor, text):
    """One step."""
    path = os.path.join(TREE, path)
    if not anchor:
        assert not os.path.exists(path), f"{path} is there already"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    at = [i for i, line in enumerate(lines) if anchor in line]
    equal(len(at), 1, f"lines of {path} with {anchor!r}")
    lines[at[0]:at[0]] = text.rstrip("\n").split("\n") + ([""] if text.endswith("\n\n") else [])
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def make(*goals):
    """make in the copy, without optimisation: what is built runs a moment."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MFLAGS", "O", "SAN", "V")}
    done = subprocess.run(["make", "-j2", "CFLAGS=-O0", *(f"build/{goal}" for goal in goals)], cwd=TREE,
                          env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-3000:]


@functools.cache
def build():
    """The copy with all recipes followed; its build folder."""
    shutil.rmtree(TREE, ignore_errors=True)
    for folder in FOLDERS:
        shutil.copytree(os.path.join(TOP, folder), os.path.join(TREE, folder),
                        ignore=shutil.ignore_patterns("*.zst"))
    shutil.copy(os.path.join(TOP, "Makefile"), TREE)
    for steps in recipes().values():
        for step in steps:
            follow(*step)
    make("xenfault", "man/xenfault.1", "completions/xenfault")
    return os.path.join(TREE, "build")


def tool(*arguments):
    """What the built program prints."""
    done = subprocess.run([os.path.join(build(), "xenfault"), *arguments], capture_output=True, text=True,
                          check=False)
    equal(done.returncode, 0, f"{arguments}: {done.stderr}")
    return done.stdout


@functools.cache
def database():
    """A capture with forks and COW faults, as the built program imports it."""
    path = os.path.join(TREE, "build", "forks.db")
    tool("import", "--force", "-o", path, unpack("dom0-forks.bin"))
    return path


def read(*path):
    """A file below the copy's build folder."""
    with open(os.path.join(build(), *path), encoding="utf-8") as file:
        return file.read()


@case("recipes: five, each of which edits at most three files")
def _():
    equal(sorted(recipes()), ["A command", "A mechanism", "A view", "A view of the TUI", "An event"], "recipes")
    for heading, steps in recipes().items():
        files = {path for path, _, _ in steps}
        assert 1 < len(files) <= 3, (heading, files)


@case("recipes: an event is in the events, in info, in the manual", slow=True)
def _(folder):
    window = synth.encode(0x20100F, (3,), 2000)
    head = synth.encode(0x1F003, (0, len(window)))
    path = folder / "iopl.bin"
    path.write_bytes(head + window)
    build()
    rows = tool("events", "--format", "csv", str(path)).splitlines()
    names = rows[0].split(",")
    found = [dict(zip(names, row.split(","))) for row in rows[1:]]
    equal([(r["kind"], r["arg1"], r["raw_id"]) for r in found], [("iopl", "3", str(0x20100F))], "events")
    assert "PV_IOPL" in tool("info", str(path))
    assert ".It Cm iopl\n" in read("man", "xenfault-db.5")


@case("recipes: a view is exported, completed, described", slow=True)
def _():
    build()
    rows = tool("export", "--to", "csv", "--view", "cow_by_domain", database()).splitlines()
    equal(rows[0], "domid,forks,cow_faults", "header")
    equal(rows[1:], tool("sql", "--format", "csv", database(), "SELECT domid, count(*), sum(cow_faults)"
                         " FROM forks GROUP BY domid").splitlines()[1:], "rows")
    assert len(rows) > 1 and rows[1].split(",")[2] > "0", rows
    assert '"view":"cow_by_domain"' in tool("export", "--to", "jsonl", database())
    equal([" cow_by_domain " in line for name in ("xenfault", "_xenfault")
           for line in read("completions", name).splitlines() if line.startswith("O\texport\t-\tview\t")],
          [True, True], "completions")
    page = read("man", "xenfault-db.5").split(".Ss cow_by_domain\n")[1].split(".Ss ")[0]
    assert ".It Va forks , cow_faults\n" in page, page


@case("recipes: a command is in --help, the manual, the completions, and runs", slow=True)
def _():
    build()
    assert re.search(r"^  cow +DB +COW faults by domain$", tool("--help"), re.M)
    assert "--format FORMAT" in tool("cow", "--help")
    equal(tool("cow", "--format", "csv", database()),
          tool("export", "--to", "csv", "--view", "cow_by_domain", database()), "rows")
    page = read("man", "xenfault-cow.1")
    assert "pays later" in page and "format" in page, page
    assert r"xenfault\-cow 1 ," in read("man", "xenfault.1")
    for name in ("xenfault", "_xenfault"):
        assert "C\tcow\tDB\t" in read("completions", name)


@case("recipes: a view of the TUI has its key, its columns, its line in the help", slow=True)
def _():
    build()
    screen = tool("tui", "--ascii", "--script", "8<Screen>", database())
    assert "COW by domain" in screen and "COW faults" in screen and " 0 " in screen, screen
    lines = tool("tui", "--ascii", "--size", "80x60", "--script", "?<Screen>", database()).splitlines()
    assert any(re.match(r".* 8 +COW faults by domain", line) for line in lines), lines


@case("recipes: a mechanism has its price", slow=True)
def _():
    build()
    rows = tool("policy", "--part", "costs", "--format", "csv", database()).splitlines()
    assert sum("batch-64" in row for row in rows) == 1 and sum("batch-32" in row for row in rows) == 1, len(rows)
    assert "batch-64" in tool("policy", database())


if __name__ == "__main__":
    finish()
