#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of xenfault tui: screens as text, figures against the commands, real terminals.

tui.py            all of it (tmux is needed for one part)
tui.py --update   writes the expected screens in tests/screens and docs/tui.md anew
tui.py --bench [DB]  times of screens and keys, memory; without DB on one of 5 million events
XENFAULT names the program, XENFAULT_SAN one built with sanitizers (default: build/san/xenfault,
else the same).
"""
import csv
import fcntl
import io
import os
import random
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time

import lib
from lib import case, equal

SCREENS = os.path.join(lib.HERE, "screens")
SAN = os.path.abspath(os.environ.get("XENFAULT_SAN", os.path.join(lib.TOP, "build", "san", "xenfault")))
if not os.path.exists(SAN):
    SAN = lib.XENFAULT
WORK = lib.WORK
UTF8 = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
UTF8.pop("NO_COLOR", None)
CLASSIC = {**UTF8, "LC_ALL": "C"}

# The kernel symbols and the frequency fit the dom0 captures only.
CAPTURES = {
    "dom0-dirty": ["--cpu-hz", "2.4454G", "--symbols", "kallsyms"],
    "wtpt-smp": [],
    "pvh-shadow": [],
    "dom0-lossy": ["--cpu-hz", "2.4454G", "--symbols", "kallsyms"],
    "pvh-hap": [],
    "empty": None,
}
SIZES = ["80x24", "20x5", "1x1", "200x60"]
VIEWS = {
    "forks": "", "fork": "<Enter>", "page": "<Enter><Enter>", "event": "<Enter><Enter><Enter>",
    "pages": "2", "events": "3", "spurious": "4", "trust": "5", "info": "6", "dirty": "7<Down>",
    "help": "?", "sort": "s", "columns": "C", "one": "i", "bad filter": "fvcpu = d0v1 and ptez > 8<Enter>",
    "found": "/v1<Enter>n", "filtered": "fvcpu = d0v0<Enter>",
}
WIDE_VIEWS = ["forks", "fork", "page"]
KEYS = (["<Up>", "<Down>", "<Left>", "<Right>", "<Home>", "<End>", "<PgUp>", "<PgDn>", "<Enter>", "<Esc>",
         "<Tab>", "<Shift-Tab>", "<Backspace>", "<Del>", "<F1>", "<Space>", "<C-l>", "<C-u>", "<C-a>", "<C-e>",
         "<C-p>"] + list("jkhlgG1234567srnN/ftCoeiympxq?"))


def open_capture(name):
    """Path of the database of a capture; made in WORK so that no path of this machine shows."""
    path = os.path.join(WORK, name + ".db")
    if os.path.exists(path) and os.path.getmtime(path) > os.path.getmtime(lib.XENFAULT):
        return path
    if CAPTURES[name] is None:
        make_empty(path)
        return path
    options = [lib.unpack("dom0-kallsyms.txt") if o == "kallsyms" else o for o in CAPTURES[name]]
    shutil.copyfile(lib.unpack(name + ".bin"), os.path.join(WORK, name + ".bin"))
    lib.run("import", "--force", "-o", name + ".db", *options, name + ".bin", cwd=WORK)
    return path


def make_empty(path):
    """A database with the schema and not one row."""
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    for name in ("facts", "derived", "views"):
        with open(os.path.join(lib.TOP, "schemas", name + ".sql"), encoding="ascii") as file:
            db.executescript(file.read())
    db.execute(f"PRAGMA application_id = {0x58464c54}")
    db.execute(f"PRAGMA user_version = {lib.schema_version()}")
    db.commit()
    db.close()


def script(path, keys, size="80x24", *options, env=None, program=None, status=0):
    done = subprocess.run([program or lib.XENFAULT, "tui", os.path.basename(path), "--size", size,
                           *options, "--script", keys], cwd=os.path.dirname(path),
                          env=env or UTF8, capture_output=True, timeout=600)
    assert done.returncode == status, \
        f"{keys!r}: status {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}"
    return done.stdout.decode()


def rows(path, *command):
    return list(csv.DictReader(io.StringIO(lib.run(*command, path, "--format", "csv").stdout)))


# --- screens ---

def screens_of(name, size, form):
    env = UTF8 if form.startswith("utf8") else CLASSIC
    color = "256" if form.endswith("color") else "never"
    views = WIDE_VIEWS if size == "200x60" else VIEWS
    text = ""
    for view in views:
        screen = script(open_capture(name), VIEWS[view], size, "--color", color, env=env)
        if color != "never":  # the roles alone: the text is that of the other form
            screen = "".join(screen.splitlines(True)[1 + int(size.split("x")[1]):])
        text += f"=== {view}\n" + screen
    return text


def compare_screens(update):
    for name in CAPTURES:
        for size in SIZES:
            for form in ("utf8", "ascii", "utf8-color", "ascii-color"):
                path = os.path.join(SCREENS, name, f"{size}-{form}.txt")

                @case(f"screens {name} {size} {form}")
                def _():
                    got = screens_of(name, size, form)
                    if form.startswith("ascii"):
                        got.encode("ascii")
                    if update:
                        os.makedirs(os.path.dirname(path), exist_ok=True)
                        with open(path, "w", encoding="utf-8") as file:
                            file.write(got)
                        return
                    with open(path, encoding="utf-8") as file:
                        wanted = file.read()
                    if got != wanted:
                        g, w = got.split("\n"), wanted.split("\n")
                        line = next((i for i, (a, b) in enumerate(zip(g, w)) if a != b),
                                    min(len(g), len(w)))
                        raise AssertionError(f"line {line + 1}: {g[line:line + 1]} instead of "
                                             f"{w[line:line + 1]}; --update writes it anew")


def compare_tour(update):
    """The screens in docs/tui.md, each behind a comment: capture, size, keys."""
    @case("screens of the tour in docs/tui.md")
    def _():
        path = os.path.join(lib.TOP, "docs", "tui.md")
        with open(path, encoding="utf-8") as file:
            tour = file.read()

        def now(found):
            screen = script(open_capture(found[1]), found[3], found[2]).split("\n", 1)[1].rstrip("\n")
            return f"<!-- {found[1]} {found[2]} {found[3]} -->\n```\n{screen}\n```\n"
        fresh = re.sub(r"<!-- (\S+) (\d+x\d+) (.*?) -->\n```\n.*?\n```\n", now, tour, flags=re.S)
        if update:
            with open(path, "w", encoding="utf-8") as file:
                file.write(fresh)
        else:
            assert fresh == tour, "they differ from what the program shows; --update writes them anew"


def shape_of_screens():
    @case("every screen has its size, the colour form the same text", slow=True)
    def _():
        for name in CAPTURES:
            for size in SIZES + ["7x3", "33x9", "500x2", "2x500"]:
                width, height = map(int, size.split("x"))
                for keys in ("", "<Enter>", "?", "fx<Enter>"):
                    plain = script(open_capture(name), keys, size, "--color", "never")
                    lines = plain.split("\n")[1:-1]
                    equal(len(lines), height, f"{name} {size} {keys} lines")
                    assert all(len(line) <= width for line in lines), f"{name} {size} {keys}"
                    color = script(open_capture(name), keys, size, "--color", "8").split("\n")
                    equal(color[1:height + 1], lines, f"{name} {size} {keys} in colour")


# --- figures ---

def table(text):
    """Rows of a screen without title lines, cells split at blanks, without the two marks in front."""
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if re.match(r"  *(fork|seq|event|what)", line))
    for line in lines[start + 1:]:
        cells = line[2:].split()
        if not cells or not re.match(r"[> ].?\s*\S", line):
            return
        yield cells


def number(text):
    return int(text) if text not in ("", "-") else None


def owner(row):
    return "-" if row["domid"] == "" else "idle" if row["domid"] == "32767" else f"d{row['domid']}v{row['vcpu']}"


def figures():
    for name in CAPTURES:
        path = open_capture(name)

        @case(f"forks of {name} equal the command's")
        def _():
            forks, pages = rows(path, "forks"), rows(path, "pages")
            # tt: cycles; o columns as they stand, 0 spurious included
            keys = "tt" if name.startswith("dom0") else "t"
            got = [cells for cells in table(script(path, keys, "200x1000"))][:len(forks)]
            for cells, fork in zip(got, forks):
                most = max((int(p["ptes"]) for p in pages if p["fork_id"] == fork["fork_id"]), default=0)
                equal(cells[:10], [fork["fork_id"], owner(fork), fork["tsc_start"],
                                   str(int(fork["tsc_end"]) - int(fork["tsc_start"])), fork["mechanism"],
                                   fork["pt_pages"], fork["ptes"], str(most), fork["faults"],
                                   fork["spurious"]], "row")
            equal(len(got), len(forks), "rows")

        @case(f"totals of {name} equal the command's")
        def _():
            forks = rows(path, "forks")
            line = script(path, "", "200x24").split("\n")[2].replace(",", "")
            for label, column in (("PT pages", "pt_pages"), ("PTEs", "ptes"), ("faults", "faults"),
                                  ("spurious", "spurious")):
                found = int(re.search(rf"(\d+) {label}", line)[1])
                equal(found, sum(int(f[column]) for f in forks), label)
            equal(int(re.search(r"(\d+) forks", line)[1]), len(forks), "forks")

        @case(f"microseconds of {name} equal the command's text")
        def _():
            if not CAPTURES[name]:
                return
            text = lib.run("forks", path).stdout.split("\n")
            header = text[0].split()
            place = header.index("us")
            wanted = [line.split()[place] for line in text[1:] if line][:900]
            got = [cells[3] for cells in table(script(path, "", "200x1000"))][:len(wanted)]
            equal(got, wanted if wanted and wanted[0] != "-" else got, "us")

        @case(f"pages of {name} equal the command's")
        def _():
            pages = sorted(rows(path, "pages"), key=lambda page: int(page["sequence_id"]))[:900]
            keys = "2tt" if name.startswith("dom0") else "2t"
            got = list(table(script(path, keys, "220x1000")))[:len(pages)]
            for cells, page in zip(got, pages):
                if page["pt_page"] == "" and page["frame"] != "":
                    cells[3:5] = [" ".join(cells[3:5])]
                where = page["pt_page"] or (f"frame {int(page['frame']):x}" if page["frame"] else "-")
                equal(cells[:12], [page["sequence_id"], page["fork_id"] or "-", owner(page), where,
                                   page["va_base"] or "-", page["ptes"], page["faults"],
                                   str(int(page["tsc_end"]) - int(page["tsc_start"])),
                                   page["ended_by"], page["spurious"], page["mechanism"],
                                   page["tsc_start"]], "row")
            equal(len(got), len(pages), "rows")

        @case(f"events of {name} equal the command's")
        def _():
            events = rows(path, "events", "--limit", "900")
            keys = "3tt" if name.startswith("dom0") else "3t"
            got = list(table(script(path, keys, "220x1000")))[:len(events)]
            for cells, event in zip(got, events):
                equal([cells[0], cells[1], cells[3], cells[4], cells[5], cells[6]],
                      [event["event_id"], event["tsc"] or "-", owner(event), event["kind"],
                       event["va"] or "-", event["slot"] or "-"], "row")
            equal(len(got), len(events), "rows")

        @case(f"spurious faults of {name} equal the command's")
        def _():
            db = sqlite3.connect(path)
            wanted = db.execute("SELECT event_id, cause, confidence FROM spurious_faults LIMIT 900").fetchall()
            keys = "4tt" if name.startswith("dom0") else "4t"
            got = [(int(c[0]), c[3], c[6]) for c in table(script(path, keys, "220x1000"))
                   if c[0].isdigit()][:len(wanted)]
            equal(got, wanted, "rows")

        @case(f"y of {name} prints the command's row")
        def _():
            forks = lib.run("forks", path, "--format", "csv").stdout.split("\n")
            out = script(path, "yjyq", "80x24").split("\n")
            if len(forks) > 3:
                wanted = [",".join(line.split(",")[:18]) for line in forks[:3]]
                equal([",".join(line.split(",")[:18]) for line in out[:3]], wanted, "rows")


# --- behaviour, scripted ---

def cursor_row(text):
    return next(line for line in text.split("\n") if line.startswith(">"))


def behaviour():
    path = open_capture("dom0-dirty")

    @case("the cursor stays on its row through sort, reverse and filter")
    def _():
        fork = cursor_row(script(path, "jjjj")).split()[1]
        for keys in ("smm<Enter>", "r", "smm<Enter>r", "ffork_id > 3<Enter>", "3<Tab>1",
                     "ffork_id > 9<Enter>f<C-u><Enter>"):
            equal(cursor_row(script(path, "jjjj" + keys)).split()[1], fork, keys)

    @case("a new list shows its top when sorted")
    def _():
        assert " 8202 " in cursor_row(script(path, "smm<Enter>"))

    @case("search counts, wraps and goes back")
    def _():
        for keys, wanted in (("/d0v1<Enter>", 1), ("/d0v1<Enter>n", 2), ("/d0v1<Enter>nnN", 2)):
            text = script(path, keys)
            found = re.search(r"/d0v1 (\d+) of (\d+)", text)
            equal(int(found[1]), wanted, keys)
            equal(int(found[2]), script(path, "", "80x1000").count(" d0v1 "), "total")
        assert "of" in script(path, "/d0v1<Enter>N")
        assert "not found" in script(path, "/no such thing<Enter>")

    @case("search finds all events that show the pattern, and no other")
    def _():
        patterns = ("batch", "d0v1", "IRET", "7f", "0x7f", "x7", "0", "12", "ff8", "pr.t", "bat.*h", "it?r", "3$",
                    "write", "PWU", "99999", "cleared", "copy")

        def found(capture, keys, pattern):
            text = script(capture, f"{keys}/{pattern}<Enter>", "250x24")
            match = re.search(r"/\S+ (?:\d+ of (\d+)|(\d+) found)", text)
            assert match or "not found: " in text, text
            return int(match[1] or match[2]) if match else 0

        small = "3fnot event_id > 900<Enter>"
        for name, keys in (("wtpt-smp", "3rt"), ("dom0-lossy", "3"), ("wtpt-smp", small)):
            capture = open_capture(name)
            for pattern in patterns:
                # in parentheses each row is formatted and looked at
                equal(found(capture, keys, pattern), found(capture, keys, f"({pattern})"), f"{name} {keys} {pattern}")
        lines = [" ".join(cells) for cells in table(script(capture, small, "250x1000"))]
        equal(len(lines), 900, "rows")
        for pattern in patterns[:10]:
            flags = 0 if pattern != pattern.lower() else re.I
            equal(found(capture, small, pattern), sum(bool(re.search(pattern, line, flags)) for line in lines), pattern)

    @case("search is smart about case, and a bad pattern is refused")
    def _():
        assert "not found: EMULATE" in script(path, "/EMULATE<Enter>")
        assert re.search(r"/emulate 1 of 33", script(path, "/emulate<Enter>"))
        assert "regular expression" in script(path, "/a(<Enter>")

    @case("filters: rows, error under its place, nothing changed by it")
    def _():
        db = sqlite3.connect(path)
        for text, sql in (("vcpu = d0v1 and ptes > 8", "domid = 0 AND vcpu = 1 AND ptes > 8"),
                          ("not (vcpu = d0v1) or faults >= 100", "NOT (domid = 0 AND vcpu = 1) OR faults >= 100"),
                          ("symbol = copy_page_range", "symbol LIKE 'copy_page_range+%'"),
                          ("mechanism ~ ^em and ptes != 6", "mechanism LIKE 'em%' AND ptes <> 6"),
                          ("rip >= 0xffffffff00000000", "rip IS NOT NULL"),
                          ("doubt = null", "doubt IS NULL")):
            wanted = db.execute(f"SELECT count(*) FROM forks WHERE {sql}").fetchone()[0]
            text = script(path, f"f{text.replace('<', '<lt>')}<Enter>")
            found = re.search(r"(\d+) of (\d+)  filter", text)
            equal(int(found[2]), wanted, text.split("\n")[-3])
        bad = script(path, "fvcpu = d0v1 and ptez > 8<Enter>", "100x24").split("\n")
        place = bad[-4].index("v ") if "v no column" in bad[-4] else bad[-4].index("v")
        equal(bad[-3][place:place + 4], "ptez", "what the arrow points at")

    @case("the way to the fork with 512 PTEs per page takes eight keys")
    def _():
        text = script(path, "smm<Enter><Enter>jj<Enter>")
        assert re.search(r"PTEs 512, faults 512", text), text
        assert "copy_page_range" in text and "d0v0" in text

    @case("all keys on all views of an empty database")
    def _():
        empty = open_capture("empty")
        file = os.path.join(WORK, "keys-empty")
        with open(file, "w", encoding="ascii") as out:
            for view in "123456":
                for keys in ("", "t", "f1<Enter>", "/x<Enter>"):
                    for key in KEYS:
                        out.write(view + keys + key + "\n")
        for size in ("80x24", "1x1"):
            script(empty, "@" + file, size, program=SAN)

    @case("every key sequence of length 2, under the sanitizers" if SAN != lib.XENFAULT
          else "every key sequence of length 2", slow=True)
    def _():
        file = os.path.join(WORK, "keys-pairs")
        with open(file, "w", encoding="ascii") as out:
            for one in KEYS:
                for two in KEYS:
                    out.write(one + two + "\n")
        script(open_capture("dom0-lossy"), "@" + file, program=SAN)
        script(open_capture("empty"), "@" + file, program=SAN)

    @case("random keys and sizes, under the sanitizers" if SAN != lib.XENFAULT
          else "random keys and sizes", slow=True)
    def _():
        random.seed(1)
        for name in ("wtpt-smp", "pvh-shadow", "dom0-dirty"):
            file = os.path.join(WORK, "keys-random")
            with open(file, "w", encoding="ascii") as out:
                for _ in range(40):
                    for _ in range(60):
                        out.write(random.choice(KEYS[:-2]) if random.random() < 0.9 else
                                  f"<Size {random.randint(1, 220)}x{random.randint(1, 70)}>")
                    out.write("\n")
            script(open_capture(name), "@" + file, program=SAN)

    @case("random filters neither crash nor slip through", slow=True)
    def _():
        random.seed(2)
        words = ["ptes", "vcpu", "symbol", "rip", "=", "!=", "<lt>", ">=", "~", "!~", "(", ")", "and", "or", "not",
                 "d0v1", "8", "0xff", "'x'", "\"", "null", "1.5k", "-1", "&&", "|", "a(", "; DROP TABLE x", "%s"]
        file = os.path.join(WORK, "keys-filters")
        with open(file, "w", encoding="ascii") as out:
            for _ in range(1500):
                out.write("f" + " ".join(random.choice(words) for _ in range(random.randint(1, 9))) +
                          "<Enter><Esc>\n")
            out.write("f" + "(" * 240 + "<Enter>\nf" + "not " * 60 + "ptes<Enter>\n")
        text = script(open_capture("wtpt-smp"), "@" + file, "80x10", program=SAN)
        assert "syntax" not in text and "internal" not in text


# --- real terminals ---

class Pty:
    """The program on a terminal of its own."""

    def __init__(self, args, env=None, size=(24, 80), program=None):
        self.master, self.slave = os.openpty()
        self.resize(*size)
        self.before = self.stty()
        self.output = b""

        def child():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen([program or lib.XENFAULT, *args], stdin=self.slave, stdout=self.slave,
                                        stderr=subprocess.PIPE, env=env or UTF8, preexec_fn=child, cwd=WORK)

    def resize(self, lines, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def stty(self):
        return subprocess.run(["stty", "-g"], stdin=self.slave, capture_output=True, text=True).stdout

    def read(self, quiet=0.1, most=30.0):
        """What comes until nothing comes for so long, and the program waits for more keys."""
        got, end = b"", time.time() + most
        while time.time() < end:
            if select.select([self.master], [], [], quiet)[0]:
                got += os.read(self.master, 65536)
            elif self.process.poll() is not None or not (self.unread() or lib.busy(self.process.pid)):
                break
        self.output += got
        return got

    def unread(self):
        """Bytes of keys that the program has not read."""
        return struct.unpack("i", fcntl.ioctl(self.slave, termios.FIONREAD, bytes(4)))[0]

    def press(self, keys, quiet=0.1):
        os.write(self.master, keys.encode())
        return self.read(quiet)

    def latency(self, keys, quiet=0.3):
        """Milliseconds until the first and the last byte of the answer."""
        start = time.time()
        os.write(self.master, keys.encode())
        first = last = None
        while select.select([self.master], [], [], quiet)[0]:
            self.output += os.read(self.master, 65536)
            last = time.time()
            first = first or last
        return (first - start) * 1000 if first else 0, (last - start) * 1000 if last else 0

    def wait(self, most=60):
        end = time.time() + most
        while self.process.poll() is None and time.time() < end:
            self.read(0.05, 0.2)
        self.read(0.05)
        assert self.process.returncode is not None, "still runs"
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        os.close(self.master)
        os.close(self.slave)


def terminals():
    path = open_capture("dom0-dirty")
    base = os.path.basename(path)

    for number_, name, status in ((signal.SIGTERM, "TERM", 130), (signal.SIGINT, "INT", 130),
                                  (signal.SIGHUP, "HUP", 130), (signal.SIGSEGV, "SEGV", -signal.SIGSEGV),
                                  (signal.SIGABRT, "ABRT", -signal.SIGABRT)):
        @case(f"SIG{name} gives the terminal back")
        def _():
            pty = Pty(["tui", base])
            pty.read()
            assert pty.stty() != pty.before, "never took the terminal"
            pty.process.send_signal(number_)
            equal(pty.wait(), status, "status")
            equal(pty.stty(), pty.before, "stty -g")
            assert pty.output.rstrip().endswith(b"\x1b[?1049l") or b"\x1b[?1049l" in pty.output[-200:], \
                "not back from the other screen"
            assert b"\x1b[?12l\x1b[?25h" in pty.output[-200:] or b"\x1b[?25h" in pty.output[-300:], "no cursor"
            pty.close()

    @case("the terminal is given back on q, and y prints behind it")
    def _():
        pty = Pty(["tui", base])
        pty.read()
        pty.press("yq")
        equal(pty.wait(), 0, "status")
        equal(pty.stty(), pty.before, "stty -g")
        assert b"fork_id,domid" in pty.output.split(b"\x1b[?1049l")[-1]
        pty.close()

    @case("^C in a prompt ends it, the terminal is given back")
    def _():
        pty = Pty(["tui", base])
        pty.read()
        pty.press("/abc\x03")
        equal(pty.wait(), 130, "status")
        equal(pty.stty(), pty.before, "stty -g")
        pty.close()

    @case("^Z stops it, and it comes back")
    def _():
        pty = Pty(["tui", base])
        pty.read()
        # an orphaned process group is not stopped by ^Z: send what a shell's child would get
        pty.process.send_signal(signal.SIGSTOP)
        os.waitpid(pty.process.pid, os.WUNTRACED)
        pty.resize(30, 100)
        pty.process.send_signal(signal.SIGCONT)
        assert pty.read(0.3), "nothing drawn"
        pty.press("q")
        equal(pty.wait(), 0, "status")
        pty.close()

    @case("1,000 resizes, some in a prompt and a box")
    def _():
        random.seed(3)
        pty = Pty(["tui", base])
        pty.read()
        for i in range(1000):
            if i % 100 == 50:
                os.write(pty.master, random.choice(["/ab", "\x1b", "?", "\r", "s", "fvc"]).encode())
            pty.resize(random.randint(1, 70), random.randint(1, 220))
            if i % 10 == 0:
                pty.read(0.002, 0.02)
        pty.resize(24, 80)
        pty.read()
        assert pty.process.poll() is None, "died"
        pty.press("\x1b", 0.3)
        pty.press("\x1b", 0.3)
        pty.press("\x1b", 0.3)
        pty.press("q")
        equal(pty.wait(), 0, "status")
        equal(pty.stty(), pty.before, "stty -g")
        pty.close()

    for term, status, wanted in (("dumb", 2, "cannot place the cursor"), ("no-such-term", 2, "not known"),
                                 (None, 2, "TERM is not set"), ("vt100", 0, ""), ("xterm", 0, ""),
                                 ("xterm-256color", 0, ""), ("linux", 0, "")):
        @case(f"TERM={term}")
        def _():
            env = {**CLASSIC, "TERM": term} if term else {k: v for k, v in CLASSIC.items() if k != "TERM"}
            pty = Pty(["tui", base], env)
            pty.read()
            if not status:
                pty.press("jj\r", 0.2)
                pty.press("q", 0.2)
            equal(pty.wait(), status, "status")
            message = pty.process.stderr.read().decode()
            assert wanted in message and (not status) == (message == ""), message
            assert all(byte < 128 for byte in pty.output), "not ASCII under LC_ALL=C"
            equal(pty.stty(), pty.before, "stty -g")
            pty.close()

    @case("NO_COLOR and --color")
    def _():
        color = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|38;5;\d+)m")
        for env, option, wanted in (({}, [], True), ({"NO_COLOR": "1"}, [], False), ({"NO_COLOR": ""}, [], True),
                                    ({"NO_COLOR": "1"}, ["--color", "always"], True),
                                    ({}, ["--color", "never"], False)):
            pty = Pty(["tui", base, *option], {**UTF8, **env})
            pty.read()
            pty.press("q")
            pty.wait()
            equal(bool(color.search(pty.output)), wanted, f"colour with {env} {option}")
            pty.close()

    @case("no mouse mode unless asked")
    def _():
        for keys, wanted in (("j", False), ("m", True)):
            pty = Pty(["tui", base])
            pty.read()
            pty.press(keys)
            pty.press("q")
            equal(pty.wait(), 0, "status")
            equal(b"1000h" in pty.output.split(b"\x1b[?1049l")[0], wanted, "mouse mode")
            pty.close()

    @case("without a terminal: one line that names the command, status 2")
    def _():
        done = lib.run("tui", path, status=2, stdin=subprocess.DEVNULL)
        equal(done.stdout, "", "stdout")
        assert f"xenfault forks {path}" in done.stderr and done.stderr.count("\n") == 1

    @case("errors: no such file, not a database, bad key name, bad size, bad colour")
    def _():
        lib.run("tui", "--script", "", os.path.join(WORK, "none.db"), status=3)
        lib.run("tui", "--script", "", os.path.abspath(__file__), status=4)
        lib.run("tui", "--script", "<Nokey>", path, status=2)
        lib.run("tui", "--script", "", "--size", "0x0", path, status=2)
        lib.run("tui", "--color", "pink", path, status=2)

    @case("only changed cells are written")
    def _():
        pty = Pty(["tui", base])
        first = pty.read()
        equal(pty.read(0.5), b"", "output while nothing happens")
        moved = pty.press("j")
        assert len(moved) < len(first) / 2, f"{len(moved)} bytes for one step, {len(first)} for a screen"
        pty.press("q")
        pty.wait()
        pty.close()


def in_tmux():
    servers = [0]

    def run(*args):
        servers[0] += args[0] == "new-session"  # a dying server must not get the next session
        return subprocess.run(["tmux", "-L", f"xenfault-{os.getpid()}-{servers[0]}", "-f", "/dev/null", *args],
                              capture_output=True, text=True, env=UTF8).stdout

    def wait_for(what, seconds=60):
        end = time.time() + seconds
        while time.time() < end:
            text = run("capture-pane", "-p")
            if what(text):
                return text
            time.sleep(0.05)
        return run("capture-pane", "-p")

    @case("in tmux: ^Z gives the shell its terminal, fg brings the screen back")
    def _():
        run("new-session", "-d", "-x", "80", "-y", "24", f"cd {WORK} && LC_ALL=C.UTF-8 bash --norc -i")
        try:
            run("send-keys", f"PS1=prompt: TERM=screen; {lib.XENFAULT} tui dom0-dirty.db", "Enter")
            assert "1 of 33" in wait_for(lambda text: "1 of 33" in text), "no screen"
            run("send-keys", "C-z")
            assert "Stopped" in wait_for(lambda text: "Stopped" in text), "not stopped"
            run("send-keys", "stty -a | grep -o '.icanon .*echo ' | tr a-z A-Z", "Enter")
            assert " ICANON " in wait_for(lambda text: "ICANON" in text), "not the shell's terminal"
            run("resize-window", "-x", "90", "-y", "30")
            run("send-keys", "fg", "Enter")
            assert "1 of 33" in wait_for(lambda text: "1 of 33" in text), "did not come back"
            run("send-keys", "j")
            assert "2 of 33" in wait_for(lambda text: "2 of 33" in text), "takes no keys"
            run("send-keys", "q")
            assert "1 of 33" not in wait_for(lambda text: "prompt:" in text and "of 33" not in text)
        finally:
            run("kill-server")

    path = open_capture("dom0-dirty")
    keys = {"<Enter>": "Enter", "<Esc>": "Escape", "<Down>": "Down", "<PgDn>": "PageDown", "<End>": "End",
            "<Home>": "Home", "<Tab>": "Tab", "<Up>": "Up", "<Right>": "Right", "<Space>": "Space"}
    for steps in ("", "jj<Enter>", "<Down><Down><Enter><Enter><PgDn>", "smm<Enter><Enter>jj<Enter><End>",
                  "/d0v1<Enter>nn", "fptes > 100<Enter>", "?<PgDn>", "s<Esc><Tab><Tab><Right><Right>",
                  "<End><Up>t", "3<Space>", "5", "6jj", "i"):
        @case(f"in tmux: {steps or 'start'}")
        def _():
            wanted = script(path, steps, "80x24").split("\n")[1:25]
            run("new-session", "-d", "-x", "80", "-y", "24",
                f"cd {WORK} && LC_ALL=C.UTF-8 TERM=screen {lib.XENFAULT} tui {os.path.basename(path)}")
            try:
                wait_for(lambda text: "quit" in text)
                for key in re.findall(r"<[^>]+>|.", steps):
                    run("send-keys", *(["-l", key] if key not in keys else [keys[key]]))
                    if key == "<Esc>":
                        time.sleep(0.1)

                def same(text):
                    lines = [line.rstrip() for line in text.split("\n")[:24]]
                    return [re.sub("search: .*|filter: .*", "", a) == re.sub("search: .*|filter: .*", "", b)
                            for a, b in zip(lines, wanted)].count(False) == 0
                text = wait_for(same)
                got = [line.rstrip() for line in text.split("\n")[:24]]
                equal([a for a, b in zip(got, wanted) if a != b], [b for a, b in zip(got, wanted) if a != b],
                      "lines")
            finally:
                run("kill-server")


def following():
    @case("--follow: new rows appear, pause holds them, loss is counted, idle costs nothing", slow=True)
    def _():
        path = os.path.join(WORK, "follow.db")
        for end in ("", "-wal", "-shm"):
            if os.path.exists(path + end):
                os.remove(path + end)
        shutil.copyfile(open_capture("dom0-lossy"), path)
        db = sqlite3.connect(path)
        db.execute("PRAGMA journal_mode = WAL")
        forks = db.execute("SELECT max(fork_id) FROM fork").fetchone()[0]
        pty = Pty(["tui", "--follow", "follow.db"], {**CLASSIC, "TERM": "vt100"})
        pty.read(0.5)

        def ticks():
            with open(f"/proc/{pty.process.pid}/stat", encoding="ascii") as file:
                return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        before, started = ticks(), time.time()
        quiet = pty.read(3, 3)
        used = (ticks() - before) / os.sysconf("SC_CLK_TCK") / (time.time() - started)
        equal(quiet, b"", "output while nothing happens")
        assert used < 0.05, f"{used:.1%} of a core while idle"

        def redrawn():
            """The text of the whole screen: ^L writes every cell."""
            return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x0f|\x1b\(B", "", pty.press("\x0c", 0.3).decode())

        def add():
            columns = [c[1] for c in db.execute("PRAGMA table_info(fork)") if not c[5]]
            db.execute(f"INSERT INTO fork ({','.join(columns)}) SELECT {','.join(columns)} FROM fork "
                       "ORDER BY fork_id DESC LIMIT 1")
            db.commit()
        add()
        pty.read(0.6)
        assert f"{forks + 1} forks" in redrawn(), "no new fork"
        pty.press("p")
        add()
        equal(pty.read(0.8), b"", "output while paused")
        assert f"{forks + 1} forks" in redrawn() and "PAUSED" in redrawn(), "not held"
        pty.press("p", 0.6)
        assert f"{forks + 2} forks" in redrawn(), "no new fork after the pause"
        db.execute("UPDATE capture SET lost_records = lost_records + 5000")
        db.commit()
        pty.read(1.3)
        lost = db.execute("SELECT lost_records FROM capture").fetchone()[0]
        assert re.search(rf"!{lost:,} lost \d+/s", redrawn()), redrawn()
        pty.press("q")
        equal(pty.wait(), 0, "status")
        pty.close()
        db.close()

    @case("--follow while a writer commits: no lock error", slow=True)
    def _():
        path = os.path.join(WORK, "writer.db")
        for end in ("", "-wal", "-shm"):
            if os.path.exists(path + end):
                os.remove(path + end)
        shutil.copyfile(open_capture("dom0-dirty"), path)
        db = sqlite3.connect(path)
        db.execute("PRAGMA journal_mode = WAL")
        pty = Pty(["tui", "--follow", "writer.db"])
        pty.read()
        columns = [c[1] for c in db.execute("PRAGMA table_info(event)") if not c[5]]
        end = time.time() + 4
        pty.press("3G")
        while time.time() < end:
            db.execute(f"INSERT INTO event ({','.join(columns)}) SELECT {','.join(columns)} FROM event LIMIT 2000")
            db.commit()
            pty.read(0.01, 0.05)
        assert b"lock" not in pty.output and b"busy" not in pty.output
        pty.press("q")
        equal(pty.wait(), 0, "status")
        pty.close()
        db.close()


# --- speed ---

def make_big(path, events):
    """dom0-dirty over and over, shifted in time, up to so many events; whatever the tables look like."""
    shutil.copyfile(open_capture("dom0-dirty"), path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    size = {name: db.execute(f"SELECT max({key}) FROM {name}").fetchone()[0]
            for name, key in (("event", "event_id"), ("fork", "fork_id"), ("sequence", "sequence_id"))}
    span = db.execute("SELECT tsc_last - tsc_first + 1000000 FROM capture").fetchone()[0]
    steps = {"event_id": "event", "fork_id": "fork", "sequence_id": "sequence", "first_event": "event",
             "last_event": "event"}
    times = events // size["event"]
    for table_name, key in (("event", "event_id"), ("fork", "fork_id"), ("sequence", "sequence_id")):
        columns = [c[1] for c in db.execute(f"PRAGMA table_info({table_name})")]
        shifted = [f"{c} + n.i * {size[steps[c]]}" if c in steps else
                   f"{c} + n.i * {span}" if c.startswith("tsc") and c != "tsc_slack" else c for c in columns]
        db.execute(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {times - 1}) "
                   f"INSERT INTO {table_name} ({','.join(columns)}) SELECT {','.join(shifted)} FROM n, {table_name} "
                   f"WHERE {key} <= {size[table_name]} ORDER BY n.i, {key}")
    db.execute(f"UPDATE capture SET events = events * {times}, records = records * {times}, "
               f"tsc_last = tsc_last + {span * (times - 1)}")
    db.commit()
    db.close()


def memory(pty):
    with open(f"/proc/{pty.process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) / 1024


def bench(path, events, say=print):
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(lib.XENFAULT):
        make_big(path, events)
    start = time.time()
    pty = Pty(["tui", path])
    select.select([pty.master], [], [], 5)
    while b"quit" not in pty.output:
        assert pty.process.poll() is None, pty.process.stderr.read()
        pty.output += os.read(pty.master, 65536)
    first = (time.time() - start) * 1000
    pty.read(0.5)
    say(f"first screen {first:.0f} ms")
    worst = 0
    for keys in ("j", "\x1b[6~", "G", "g", "i", "\r", "j", "\r", "j", "\x1b", "\x1b", "2", "G", "g", "3", "G", "g",
                 "\x1b[6~", "t", "/copy_page\r", "n", "N", "\x1b", "fkind = page_fault and vcpu = d0v0\r", "G",
                 "j", "g", "r", "r", "\x1b", "/7f00000f\r", "\x1b", "4", "5", "6", "1", "?", "q", "C", "\x1b"):
        answer, done = pty.latency(keys)
        worst = max(worst, answer)
        say(f"  {keys!r:42} first byte {answer:6.1f} ms, last {done:7.1f} ms")
        pty.read(0.3, 30)
    say(f"slowest answer {worst:.0f} ms, resident {memory(pty):.0f} MiB")
    pty.press("3")
    start = time.time()
    pty.press("sv")
    answer, done = pty.latency("\r", 1.0)
    say(f"sorting {events:,} events by vCPU: progress after {answer:.0f} ms, done after {done:.0f} ms, "
          f"resident {memory(pty):.0f} MiB")
    pty.press("sv")
    os.write(pty.master, b"\r")
    time.sleep(0.5)
    answer, done = pty.latency("\x1b", 0.5)
    say(f"Esc stops a sort: answer within {answer:.0f} ms, {b'topped; all' in pty.output}")
    resident = memory(pty)
    pty.press("q")
    pty.wait()
    pty.close()
    return first, worst, resident


def speed():
    @case("speed with 500,000 events", slow=True)
    def _():
        first, worst, resident = bench(os.path.join(WORK, "half-million.db"), 500000, say=lambda text: None)
        # a busy machine takes several times as long; the figures to reach are the benchmark's
        assert first < 1500 and worst < 1500 and resident < 64, (first, worst, resident)


def main():
    if "--bench" in sys.argv:
        names = [name for name in sys.argv[2:] if not name.startswith("-")]
        bench(os.path.abspath(names[0]) if names else os.path.join(WORK, "big.db"), 5000000)
        return
    compare_screens("--update" in sys.argv)
    compare_tour("--update" in sys.argv)
    shape_of_screens()
    figures()
    behaviour()
    terminals()
    if shutil.which("tmux"):
        in_tmux()
    else:
        lib.run_case("in tmux: tmux is installed", lambda: lib.check(False, "it is not"))
    following()
    speed()
    lib.finish()


main()
