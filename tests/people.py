#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports, the SQLite extension, the report, manual pages and completions.  Out: cases."""
import csv
import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from collections import Counter, defaultdict

import lib
from lib import WORK, XENFAULT, case, database, database_path, equal, finish, run, unpack

HZ = 2445400000
TABLE = [line.split("\t") for line in run("help", "--table").stdout.splitlines()]
COMMANDS = [f[1] for f in TABLE if f[0] == "C"]
VIEWS = next(f[-1] for f in TABLE if f[:2] == ["O", "export"] and "view" in f).split()
SILENT = ("loss", "task_switch", "multicall", "mmuext", "iret", "hypercall", "privop", "trap",
          "invalid_op", "ldt_fault", "fpu", "cr_write", "domain_add", "domain_remove")
ADDRESSES = ("va", "pt_page", "rip", "pte", "va_base")


def perfetto(name, *options):
    text = run("export", "--to", "perfetto", "--cpu-hz", HZ, *options, database_path(name)).stdout
    return json.loads(text)


def check_nesting(slices):
    """Slices of one thread must nest: that is what the form demands.  In ns, by the file's order."""
    open_until = defaultdict(list)
    for event in slices:
        start = round(event["ts"] * 1000)
        end = start + round(event["dur"] * 1000)
        stack = open_until[event["tid"]]
        while stack and stack[-1] <= start:
            stack.pop()
        assert not stack or end <= stack[-1], f"{event['name']} crosses what is open on its thread"
        stack.append(end)


for trace in ("dom0-dirty", "dom0-crowd", "dom0-lossy", "wtpt-smp", "pvh-shadow-hvm",
              "dom0-pv-class-only"):
    @case(f"export to perfetto: order, nesting and counts of {trace}")
    def _(trace=trace):
        data = perfetto(trace, "--detail")
        db = database(trace)
        events = [e for e in data["traceEvents"] if e["ph"] != "M"]
        times = [e["ts"] for e in events]
        equal(times, sorted(times), "order in time")
        slices = [e for e in events if e["ph"] == "X"]
        check_nesting(slices)
        by_kind = Counter(e["name"] for e in events if e["ph"] == "i")
        wanted = dict(db.execute("SELECT kind, count(*) FROM events WHERE tsc IS NOT NULL GROUP BY 1"))
        equal(by_kind, Counter({k: n for k, n in wanted.items() if k not in SILENT}), "instants")
        for category, view in (("fork", "forks"), ("page", "pt_sequences"), ("loss", "losses")):
            equal(sum(e["cat"] == category for e in slices),
                  db.execute(f"SELECT count(*) FROM {view}").fetchone()[0], view)
        equal(sum(e["args"]["lost"] for e in slices if e["cat"] == "loss"),
              db.execute("SELECT lost_records FROM trace").fetchone()[0], "records lost")
        equal(sum("spurious" in e["args"] for e in events if e["ph"] == "i"),
              db.execute("SELECT count(*) FROM spurious_faults").fetchone()[0], "spurious faults")


@case("export to perfetto: without --detail the same slices and no instants")
def _():
    for trace in ("dom0-dirty", "dom0-lossy"):
        brief, whole = perfetto(trace), perfetto(trace, "--detail")
        # threads are numbered as they turn up
        kept = [{**e, "tid": 0} for e in whole["traceEvents"] if e["ph"] == "X"]
        equal([{**e, "tid": 0} for e in brief["traceEvents"] if e["ph"] != "M"], kept, "slices")
        assert "--detail" in brief["otherData"]["events"]
        assert "events" not in whole["otherData"]


@case("export to perfetto: pages lie inside their forks, on the vCPU that the view names")
def _():
    for trace in ("dom0-dirty", "dom0-crowd", "wtpt-smp"):
        data = perfetto(trace)["traceEvents"]
        names = {e["tid"]: e["args"]["name"] for e in data if e["name"] == "thread_name"}
        forks = {e["args"]["fork_id"]: e for e in data if e.get("cat") == "fork"}
        db = database(trace)
        vcpus = dict(db.execute("SELECT fork_id, 'd' || domid || 'v' || vcpu FROM forks"))
        inside = 0
        for event in data:
            if event.get("cat") != "page" or "fork_id" not in event["args"]:
                continue
            fork = forks[event["args"]["fork_id"]]
            if event["tid"] == fork["tid"]:
                inside += 1
            assert event["ts"] >= fork["ts"], "begins before its fork"
            assert event["ts"] + event["dur"] <= fork["ts"] + fork["dur"] + 0.0005, "ends after it"
        wanted = db.execute("SELECT count(fork_id) FROM pt_sequences").fetchone()[0]
        equal(inside, wanted, "pages on the lane of their fork")
        for number, fork in forks.items():
            equal(names[fork["tid"]].split(" ")[0], vcpus[number], f"track of fork {number}")


@case("export to perfetto: microseconds are those of the view")
def _():
    db = database("dom0-dirty")
    first = db.execute("SELECT tsc_first FROM trace").fetchone()[0]
    got = {e["args"]["fork_id"]: (e["ts"], e["dur"]) for e in perfetto("dom0-dirty")["traceEvents"]
           if e.get("cat") == "fork"}
    for number, start, end in db.execute("SELECT fork_id, tsc_start, tsc_end FROM forks"):
        assert abs(got[number][0] - (start - first) * 1e6 / HZ) < 0.002, number
        assert abs(got[number][1] - (end - start) * 1e6 / HZ) < 0.002, number


@case("export: --fork, --domain, --from and --until")
def _():
    data = perfetto("dom0-dirty", "--fork", 31)["traceEvents"]
    equal([e["args"]["fork_id"] for e in data if e.get("cat") == "fork"], [31], "forks")
    pages = run("pages", "--fork", 31, "--format", "csv", database_path("dom0-dirty")).stdout
    equal(sum(e.get("cat") == "page" for e in data), len(pages.splitlines()) - 1, "pages")
    for view, command in (("events", "events"), ("pt_sequences", "pages")):
        for options in (("--fork", 31), ("--domain", "d0v1"), ("--from", "5", "--until", "6")):
            got = run("export", "--to", "csv", "--view", view, *options, "--cpu-hz", HZ,
                      database_path("dom0-dirty")).stdout
            wanted = run(command, "--format", "csv", *options, "--cpu-hz", HZ,
                         database_path("dom0-dirty")).stdout
            assert got == wanted, f"{view} {options} differ from xenfault {command}"
    got = run("export", "--to", "csv", "--view", "forks", "--domain", "d7", database_path("dom0-dirty"))
    equal(len(got.stdout.splitlines()), 1, "no such domain: the header only")


def as_text(name, value):
    if value is None:
        return ""
    if name in ADDRESSES:
        return f"0x{value % (1 << 64):x}"
    if name == "us" and isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value)


for view in VIEWS:
    @case(f"export to csv and jsonl: every row and column of {view}", slow=view == "events")
    def _(view=view):
        for trace in ("dom0-lossy", "wtpt-smp", "domu-logdirty"):
            cursor = database(trace).execute(f"SELECT * FROM {view}")
            names = [c[0] for c in cursor.description]
            wanted = sorted([as_text(n, v) for n, v in zip(names, row)] for row in cursor)
            rows = list(csv.reader(io.StringIO(
                run("export", "--to", "csv", "--view", view, database_path(trace)).stdout)))
            equal(rows[0], names, "header")
            got = sorted(rows[1:])
            equal(len(got), len(wanted), "rows")
            for one, other in zip(got, wanted):  # a half may be rounded either way
                assert one == other or all(a == b or abs(float(a) - float(b)) < 0.0011
                                           for a, b in zip(one, other)), (one, other)
            lines = run("export", "--to", "jsonl", "--view", view, database_path(trace)).stdout
            objects = [json.loads(line) for line in lines.splitlines()]
            equal(len(objects), len(wanted), "objects")
            assert all(list(o) == names for o in objects), "members in the view's order"


@case("export to jsonl without --view: all views, each row says of which")
def _():
    lines = run("export", "--to", "jsonl", database_path("wtpt-smp")).stdout.splitlines()
    got = Counter(json.loads(line)["view"] for line in lines)
    db = database("wtpt-smp")
    equal(got, Counter({v: db.execute(f"SELECT count(*) FROM {v}").fetchone()[0] for v in VIEWS
                        if db.execute(f"SELECT 1 FROM {v}").fetchone()}), "rows")


@case("export: memory does not grow with the capture")
def _():
    big, small = database_path("dom0-dirty"), database_path("wtpt-up")
    peaks = []
    for path in (small, big):
        child = subprocess.Popen([XENFAULT, "export", "--to", "perfetto", "-o", "/dev/null", path],
                                 stderr=subprocess.DEVNULL)
        peaks.append(os.wait4(child.pid, 0)[2].ru_maxrss)
    assert peaks[1] < peaks[0] + 6000, f"{peaks} KiB"


@case("export -o: whole or not at all, nothing replaced in silence")
def _():
    out = os.path.join(WORK, "export.json")
    for path in (out, out + ".part"):
        if os.path.exists(path):
            os.unlink(path)
    run("export", "--to", "perfetto", "-o", out, database_path("wtpt-up"))
    json.load(open(out, encoding="utf-8"))
    equal(run("export", "--to", "perfetto", "-o", out, database_path("wtpt-up"), status=2).stderr,
          f"xenfault: {out} is there already; --force replaces it\n", "message")
    run("export", "--to", "perfetto", "--force", "-o", out, database_path("wtpt-up"))
    os.unlink(out)
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    run("export", "--to", "perfetto", "-o", out, database_path("wtpt-smp"), status=3, preexec_fn=limit)
    assert not os.path.exists(out) and not os.path.exists(out + ".part"), "something is left"
    run("export", "--to", "jsonl", "-o", "/dev/full", database_path("wtpt-up"), status=3)


EXTENSION = os.path.join(os.path.dirname(XENFAULT), "xenfault")


def demo_folder():
    """A folder that looks like the project's after make demo."""
    folder = os.path.join(WORK, "demo-folder")
    os.makedirs(os.path.join(folder, "build", "demo"), exist_ok=True)
    for name in ("dom0-dirty.bin", "dom0-kallsyms.txt"):
        link = os.path.join(folder, "build", "demo", name)
        if not os.path.lexists(link):
            os.symlink(unpack(name), link)
    for name in ("xenfault", "xenfault.so"):
        link = os.path.join(folder, "build", name)
        if not os.path.lexists(link):
            os.symlink(os.path.join(os.path.dirname(XENFAULT), name), link)
    db = os.path.join(folder, "build", "demo.db")
    if not os.path.exists(db) or os.path.getmtime(db) < os.path.getmtime(XENFAULT):
        run("import", "--force", "-o", "build/demo.db", "--cpu-hz", "2445.4M", "--symbols",
            "build/demo/dom0-kallsyms.txt", "build/demo/dom0-dirty.bin", cwd=folder)
    return folder


def shell(sql, db=":memory:", *options, status=0):
    done = subprocess.run(["sqlite3", *options, "-cmd", f".load {EXTENSION}", db, sql],
                          capture_output=True, text=True, cwd=demo_folder())
    equal(done.returncode, status, done.stderr)
    return done


def document(name):
    with open(os.path.join(lib.TOP, "docs", name), encoding="utf-8") as file:
        return file.read()


@case("extension: the three queries of its document give what it shows")
def _():
    found = re.findall(r"```sql\n(.*?)```\s*```text\n(.*?)```", document("sqlite-extension.md"), re.S)
    equal(len(found), 3, "queries")
    for sql, wanted in found:
        equal(shell(sql, "build/demo.db", "-box").stdout, wanted, sql)


@case("extension: Python's sqlite3, with the document's own lines")
def _():
    code = re.search(r"```python\n(.*?)```", document("sqlite-extension.md"), re.S)[1]
    able = [p for p in (sys.executable, "/usr/bin/python3") if not subprocess.run(
        [p, "-c", "import sqlite3; sqlite3.Connection.load_extension"], capture_output=True).returncode]
    assert able, "no Python here loads extensions"
    done = subprocess.run([able[0], "-c", code], capture_output=True, text=True, cwd=demo_folder())
    equal(done.returncode, 0, done.stderr)
    equal(dict(line.split() for line in done.stdout.splitlines()),
          {k: str(n) for k, n in database("dom0-dirty").execute(
              "SELECT kind, count(*) FROM events GROUP BY 1")}, "kinds")


@case("extension: its rows are those of the view, also from two files at once", slow=True)
def _():
    path = unpack("wtpt-smp.bin")
    columns = ("event_id, tsc, us, pcpu, domid, vcpu, kind, va, pt_page, slot, rip, error_code,"
               "pte, frame, count, raw_id, tsc_late, arg1, arg2")
    got = shell(f"SELECT {columns} FROM xentrace('{path}')").stdout
    wanted = database("wtpt-smp").execute(f"SELECT {columns} FROM events")
    text = "".join("|".join("" if v is None else str(v) for v in row) + "\n" for row in wanted)
    assert got == text, "rows differ"
    got = shell(f"SELECT count(*), max(a.event_id) FROM xentrace('{path}') a JOIN"
                f" xentrace('{unpack('wtpt-up.bin')}') b ON a.event_id = b.event_id").stdout
    n = database("wtpt-up").execute("SELECT count(*) FROM events").fetchone()[0]
    equal(got, f"{n}|{n}\n", "joined")


@case("extension: helpers, and what goes wrong")
def _():
    equal(shell("SELECT hex64(-1), hex64(4096), hex64(NULL), pte_flags(0), pte_flags(0x8000000000000067),"
                " error_code_text(0), error_code_text(7), error_code_text(0x14),"
                " error_code_text(0x10009)").stdout,
          "0xffffffffffffffff|0x1000||-|P RW US A D NX|read, kernel, not present|"
          "write, user, protection|fetch, user, not present|"
          "read, kernel, protection, reserved bit, 0x10000\n", "helpers")
    for sql, message in ((f"SELECT * FROM xentrace('{__file__}')", "not a Xen trace"),
                         ("SELECT * FROM xentrace('/no/such')", "No such file"),
                         ("SELECT * FROM xentrace", "no file was named")):
        assert message in shell(sql, status=1).stderr, message


@case("extension: xenfault sql has the same functions")
def _():
    got = run("sql", "--format", "csv", database_path("wtpt-up"), "SELECT count(*) AS n, hex64(255) AS h FROM"
              f" xentrace('{unpack('wtpt-up.bin')}')").stdout
    equal(got, "n,h\n4527,0xff\n", "rows")


def report(name, *options):
    text = run("report", *options, database_path(name)).stdout
    return text, xml.etree.ElementTree.fromstring(text.split("\n", 1)[1])


def words(element):
    return " ".join("".join(element.itertext()).split())


for trace in ("dom0-dirty", "dom0-lossy", "wtpt-smp", "pvh-shadow-hvm", "dom0-pcpu0-only", "emulate"):
    @case(f"report: well formed, self-contained, and its numbers are the views': {trace}")
    def _(trace=trace):
        text, page = report(trace, "--cpu-hz", HZ)
        db = database(trace)
        outside = [e for e in page.iter() if e.tag in ("script", "link", "img", "iframe", "object")]
        equal(outside, [], "elements that fetch or run")
        for element in page.iter():
            for name in ("src", "href"):
                assert element.get(name, "#").startswith("#"), element.get(name)
        assert "url(http" not in text and "@import" not in text and "http" not in text, "a URL"
        ids = [e.get("id") for e in page.iter() if e.get("id")]
        equal(len(ids), len(set(ids)), "ids are unique")
        for element in page.iter():
            for target in re.findall(r"#([\w-]+)", element.get("href", "")):
                assert target in ids, f"nothing is called {target}"
        facts = {words(d[0]): words(d[1]) for d in page.find("body/main/dl")}
        for name, view in (("forks", "forks"), ("spurious faults", "spurious_faults"),
                           ("events", "events")):
            equal(int(facts[name].replace(",", "")),
                  db.execute(f"SELECT count(*) FROM {view}").fetchone()[0], name)
        equal(int(facts["records lost"].replace(",", "")),
              db.execute("SELECT lost_records FROM trace").fetchone()[0], "records lost")
        marks = [e for e in page.iter("use") if e.find("title") is not None]
        equal(len(marks), db.execute("SELECT count(*) FROM forks").fetchone()[0], "marks")
        bars = [e for e in page.iter("rect") if e.get("class") == "bar"]
        equal(bool(bars), bool(marks), "histogram")
        losses = [e for e in page.iter("rect") if e.get("class") == "loss" and len(e)]
        equal(len(losses), db.execute("SELECT count(*) FROM losses WHERE tsc_last IS NOT NULL"
                                      ).fetchone()[0] if marks else 0, "losses drawn")


@case("report: every plot has a title, a description and a table; every table heads its columns")
def _():
    text, page = report("wtpt-smp", "--cpu-hz", HZ)
    plots = [e for e in page.iter("svg") if e.get("role") == "img"]
    equal(len(plots), 3, "plots")
    for plot in plots:
        label = plot.get("aria-labelledby").split()
        equal([plot.find("title").get("id"), plot.find("desc").get("id")], label, "label")
        assert words(plot.find("title")) and words(plot.find("desc")), "empty"
    for table in page.iter("table"):
        assert words(table.find("caption")), "caption"
        assert all(th.get("scope") == "col" for th in table.iter("th")), "scope"
        for row in table.find("tbody"):
            equal(len(row), len(table.find("thead/tr")), "cells")
    captions = [words(t.find("caption")) for t in page.iter("table")]
    assert "Entries changed in a page-table page by one fork" in captions, captions
    assert "prefers-color-scheme:dark" in text and "@media print" in text, "media"
    histogram = next(t for t in page.iter("table") if words(t.find("caption")).startswith("Entries"))
    equal(sum(int(words(row[1]).replace(",", "")) for row in histogram.find("tbody")),
          database("wtpt-smp").execute(
              "SELECT count(*) FROM (SELECT sum(ptes) AS p FROM pt_sequences WHERE fork_id NOT NULL"
              " GROUP BY fork_id, ifnull(pt_page, frame) HAVING p > 0)").fetchone()[0], "pages")


@case("report: doubts stand first, and cycles without a frequency")
def _():
    text, page = report("dom0-lossy")
    assert "9026 records were lost" in words(page), "losses"
    assert "TSC frequency is unknown" in words(page), "frequency"
    assert "µs" not in text, "a time that nobody knows"
    assert text.index("records were lost") < text.index('id="forks"'), "order"


@case("report: names in the capture cannot become markup")
def _():
    trace = os.path.join(WORK, "<b>&'\"x.bin")
    shutil.copy(unpack("wtpt-up.bin"), trace)
    run("import", "--force", "-o", os.path.join(WORK, "odd.db"), trace)
    text = run("report", os.path.join(WORK, "odd.db")).stdout
    page = xml.etree.ElementTree.fromstring(text.split("\n", 1)[1])
    assert "<b>&'\"x.bin" in words(page.find("head/title")), words(page.find("head/title"))


BUILD = os.path.dirname(XENFAULT)
PAGES = sorted(os.listdir(os.path.join(BUILD, "man"))) if os.path.isdir(BUILD + "/man") else []


def rendered(page):
    done = subprocess.run(["man", "-l", os.path.join(BUILD, "man", page)], capture_output=True,
                          text=True, env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"})
    equal(done.returncode, 0, done.stderr)
    return re.sub(r".\x08", "", done.stdout)


@case("manual: a page for the program, each command, the database and the stream; no warnings")
def _():
    wanted = ["xenfault.1", "xenfault-db.5", "xentrace-format.5"]
    equal(PAGES, sorted(wanted + [f"xenfault-{c}.1" for c in COMMANDS]), "pages")
    for page in PAGES:
        path = os.path.join(BUILD, "man", page)
        for tool in (["mandoc", "-Tlint", "-Wwarning", path],
                     ["man", "-l", "--warnings", "-E", "UTF-8", path]):
            done = subprocess.run(tool, capture_output=True, text=True,
                                  env={**os.environ, "MANPAGER": "cat"})
            text = done.stderr + (done.stdout if tool[0] == "mandoc" else "")
            equal(text, "", " ".join(tool))


@case("manual, --help and the table of options say the same")
def _():
    for command in COMMANDS:
        options = [f[2:] for f in TABLE if f[0] == "O" and f[1] == command]
        page = " ".join(rendered(f"xenfault-{command}.1").split())
        usage = run(command, "--help").stdout
        lines = [" ".join(o.split()) for o in re.split(r"\n(?=  (?:-|    --))", usage)[1:]]
        equal(len(lines), len(options), f"options in {command} --help")
        assert page.count(" --help this text") == 1 or "-h, --help this text" in page, command
        for line, (key, name, argument, text, _) in zip(lines, options):
            form = ("" if key == "-" else f"-{key}, ") + f"--{name}"
            form += "" if argument == "-" else f" {argument}"
            equal(line, f"{form} {text}", f"{command} --help")
            assert f"{form} {text}" in page, f"xenfault-{command}(1) lacks: {form} {text}"
        found = re.search(r"OPTIONS (.*) EXIT STATUS", page)[1]
        equal(len(re.findall(r"(?:^| )(?:-\w, )?--[a-z-]+ (?:[A-Za-z|=]+ )?", found)) >= len(options),
              True, f"options on the page of {command}")
    whole = " ".join(rendered("xenfault.1").split())
    for command in COMMANDS:
        summary = next(f[3] for f in TABLE if f[0] == "C" and f[1] == command)
        assert summary in whole, f"xenfault(1) lacks {command}"


@case("manual: xenfault-db(5) has each view and column, and no others")
def _():
    with open(os.path.join(BUILD, "man", "xenfault-db.5"), encoding="utf-8") as file:
        parts = re.split(r"^\.Ss (.*)\n", file.read(), flags=re.M)[1:]
    documented = dict(zip(parts[::2], parts[1::2]))
    kinds = documented.pop("Kinds").split(".Sh ")[0]
    db = database("dom0-dirty")
    views = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'view'")]
    equal(sorted(documented), sorted(views), "views")
    equal(sorted(VIEWS), sorted(views), "views that are exported")
    for view in views:
        names = [n for line in re.findall(r"^\.It Va (.*)", documented[view], flags=re.M)
                 for n in line.split(" , ")]
        columns = [r[1] for r in db.execute(f"PRAGMA table_info({view})")]
        equal(sorted(names), sorted(columns), view)
    equal(re.findall(r"^\.It Cm (.*)", kinds, flags=re.M),
          [r[0] for r in db.execute("SELECT name FROM event_kind ORDER BY kind")], "kinds")


def examples():
    """(page, line) of every command in the manual pages."""
    for page in PAGES:
        with open(os.path.join(BUILD, "man", page), encoding="utf-8") as file:
            for line in re.findall(r"^([$#] .*)", file.read(), flags=re.M):
                yield page, line.replace("\\e", "\\").replace("\\-", "-")


@case("manual: every example runs", slow=True)
def _():
    folder = os.path.join(WORK, "examples")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name in ("dom0-dirty.bin", "dom0-kallsyms.txt"):
        os.symlink(unpack(name), os.path.join(folder, name))
    os.symlink(unpack("dom0-dirty.ftrace"), os.path.join(folder, "guest.ftrace"))
    os.symlink("guest.ftrace", os.path.join(folder, "dom0.ftrace"))
    run("import", "-o", "demo.db", "dom0-dirty.bin", cwd=folder)
    environment = {**os.environ, "PATH": BUILD + ":" + os.environ["PATH"]}
    count = 0
    for page, line in examples():
        count += 1
        if "import -o demo.db --cpu-hz" in line:  # the page begins from nothing
            os.unlink(os.path.join(folder, "demo.db"))
        done = subprocess.run(["sh", "-c", line[2:]], cwd=folder, env=environment, text=True,
                              capture_output=True, timeout=60)
        if line.startswith("#"):  # needs a Xen host: it must not be a mistake in the line
            assert done.returncode in (2, 6) and "option" not in done.stderr, (line, done.stderr)
            continue
        equal(done.returncode, 0, f"{page}: {line}: {done.stderr}")
        assert done.stdout or " -o " in line or "analyze" in line or "import" in line, line
    assert count > 25, f"only {count} examples"


if __name__ == "__main__":
    finish()
