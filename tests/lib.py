# SPDX-License-Identifier: GPL-2.0-or-later
"""What the test programs share: cases, the program's runs, unpacked traces and databases.

In: XENFAULT (the program; default build/xenfault), XF_TEST_DIR (a folder for what they make; default
build/test), and which cases to run: arguments, or else the words of T, each a part of a name.
Out: "ok NAME" or "FAIL NAME: why" for each case, then the totals; exit status 1 if one failed.
docs/testing.md shows how a test is written.
"""
import contextlib
import fcntl
import hashlib
import inspect
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
XENFAULT = os.path.abspath(os.environ.get("XENFAULT", os.path.join(TOP, "build", "xenfault")))
PROGRAM = os.path.splitext(os.path.basename(sys.argv[0]))[0]
# traces and databases that no test may change: all programs read the same ones
SHARED = os.path.abspath(os.environ.get("XF_TEST_DIR", os.path.join(TOP, "build", "test")))
# what this program makes: others run beside it
WORK = os.path.join(SHARED, PROGRAM)
os.makedirs(WORK, exist_ok=True)
# seconds until a run counts as hanging; much more than any takes on a busy machine
TIMEOUT = float(os.environ.get("XF_TIMEOUT", "300"))
SOON = 10  # seconds in which what takes a moment has to be over, on a busy machine too
QUICK = "XF_QUICK" in os.environ  # make quick: without slow cases
STOP = "XF_STOP" in os.environ  # end at the first case that fails

passed = failed = 0
selected = [word for word in sys.argv[1:] if not word.startswith("-")] or \
    [word for word in (os.environ.get("T"),) if word]

# under nohup, programs would be started deaf to the signal that tests send them
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def wanted(name, slow=False):
    """Whether a case was asked for."""
    return any(word in name for word in selected) if selected else not (slow and QUICK)


def run_case(name, function, *arguments, slow=False):
    """
    Runs a case, if it was asked for: function(*arguments), which raises if the case does not hold.
    A first parameter called `folder` gets a new folder (a Path) that is removed afterwards.
    slow: make quick leaves it out.
    """
    global passed, failed
    if not wanted(name, slow):
        return
    try:
        with contextlib.ExitStack() as stack:
            if next(iter(inspect.signature(function).parameters), "") == "folder":
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="xenfault-test-"))
                arguments = (Path(folder), *arguments)
            function(*arguments)
    except Exception as error:  # a broken case must not end the others
        failed += 1
        print(f"FAIL {name}: {str(error) or traceback.format_exc()}")
        if not isinstance(error, AssertionError):
            traceback.print_exc(file=sys.stdout)
        if STOP:
            finish()
    else:
        passed += 1
        print(f"ok {name}")
    sys.stdout.flush()


def case(name="", slow=False):
    """Decorator: runs the function at once as a test case; without a name, under its own."""
    if callable(name):
        return case()(name)

    def run(function):
        run_case(name or f"{PROGRAM}.{function.__name__}", function, slow=slow)
        return function
    return run


def finish():
    """Prints the totals and ends the program."""
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not (passed or selected or QUICK) else 0)


def check(truth, why):
    """Fails the case unless it is true."""
    if not truth:
        raise AssertionError(why)


def equal(got, wanted, what=""):
    """Fails the case unless both are the same."""
    check(got == wanted, f"{what}: got {got!r}, wanted {wanted!r}")


def schema_version():
    """The version that schemas/db.h gives to databases."""
    with open(os.path.join(TOP, "schemas", "db.h"), encoding="ascii") as file:
        return int(re.search(r"XF_SCHEMA_VERSION (\d+)", file.read()).group(1))


def signed(value):
    """A 64-bit value as SQLite holds it."""
    return value - (1 << 64) if value >> 63 else value


class Result:
    """How a run ended: returncode, and stdout and stderr as text."""

    def __init__(self, command, returncode, stdout, stderr):
        self.command, self.returncode = " ".join(map(str, command)), returncode
        self.stdout, self.stderr = (text.decode(errors="replace") for text in (stdout, stderr))
        check("AddressSanitizer" not in self.stderr, f"{self.command}: {self.stderr[:1500]}")
        check("runtime error:" not in self.stderr, f"{self.command}: {self.stderr[:800]}")

    def expect(self, *statuses):
        """Fails the case unless the exit status is one of these, and a failure has a message."""
        check(self.returncode in statuses, f"exit status of {self.command}: {self.returncode}, "
              f"wanted {' or '.join(map(str, statuses))} ({self.stderr[:1500]})")
        check(not self.returncode or self.stderr.strip(),
              f"exit status {self.returncode} of {self.command} without a message")
        return self


def run(*args, status=0, input=None, program=XENFAULT, **more):
    """
    Runs xenfault.  status: what it may end with, a number or several; None: anything.
    input: text or bytes for its standard input, which is empty otherwise.  What hangs fails.
    """
    command = ["xenfault", *map(str, args)]
    if input is not None:
        more["input"] = input.encode() if isinstance(input, str) else input
    else:
        more.setdefault("stdin", subprocess.DEVNULL)
    try:
        done = subprocess.run([program, *command[1:]], capture_output=True, timeout=TIMEOUT,
                              check=False, **more)
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"{' '.join(command)} still runs after {TIMEOUT} s") from late
    result = Result(command, done.returncode, done.stdout, done.stderr)
    if status is not None:
        result.expect(*(status if isinstance(status, tuple) else (status,)))
    return result


class Database(sqlite3.Connection):
    """A database of xenfault's, opened as any SQLite client would."""

    def rows(self, sql, *values):
        """All rows."""
        return self.execute(sql, values).fetchall()

    def one(self, sql, *values):
        """First column of the first row."""
        return self.execute(sql, values).fetchone()[0]

    def dicts(self, sql, *values):
        """All rows, by column name."""
        cursor = self.execute(sql, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor]

    def dump(self, source=False):
        """Every row of every table; without the name of the source, to compare two imports."""
        result = {}
        for (name,) in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            table = self.dicts(f'SELECT * FROM "{name}"')
            if name == "capture" and not source:
                for row in table:
                    row.pop("source", None)
            result[name] = sorted(repr(sorted(row.items())) for row in table)
        return result

    def doubts(self):
        """Doubts of the collector, and findings of the analyzer, by code."""
        return dict(self.rows("SELECT code, count FROM doubt UNION SELECT code, count FROM finding"))

    def kinds(self):
        """Events by kind."""
        return dict(self.rows("SELECT kind, count(*) FROM events GROUP BY kind"))


def opened(path):
    """A database, to be read."""
    check(os.path.exists(path), f"no database {os.path.basename(path)}")
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True, factory=Database)


def plain(name):
    """The path of a file that comes with the tests or the examples."""
    for folder in ("tests/traces", "examples"):
        path = os.path.join(TOP, folder, name)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(name)


def packed(name):
    """The path of a compressed one."""
    return plain(name + ".zst")


@contextlib.contextmanager
def made_once(name):
    """The path of a shared file, which no other program makes at the same time."""
    path = os.path.join(SHARED, name)
    with open(path + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path


def unpack(name):
    """The path of an unpacked trace or log."""
    with made_once(name) as path:
        if not os.path.exists(path):
            subprocess.run(["zstd", "-qdf", packed(name), "-o", path + ".new"], check=True)
            os.rename(path + ".new", path)
    return path


def database_path(name, *options):
    """The path of a recorded trace's database; the trace is imported once by each build."""
    label = "-" + hashlib.sha256(repr(options).encode()).hexdigest()[:8] if options else ""
    trace = unpack(name + ".bin")
    with made_once(name + label + ".db") as path:
        if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(XENFAULT):
            run("import", "--force", "-o", path, *options, trace)
    return path


def database(name, *options):
    """A recorded trace's database, to be read."""
    return opened(database_path(name, *options))


def runs(name):
    """The runs of a 2006 capture as dicts, numbers as int."""
    with open(plain(name + ".runs.tsv"), encoding="ascii") as file:
        keys = file.readline().split()
        for text in file:
            row = dict(zip(keys, text.rstrip("\n").split("\t")))
            yield {k: int(v) if re.fullmatch(r"-?\d+", v) else v for k, v in row.items()}


def busy(session):
    """Whether a process of a session runs, or would if the machine let it: its answer is yet to come."""
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            if int(fields[3]) == session and any(
                    Path(f"/proc/{entry}/task/{task}/stat").read_text().rsplit(")", 1)[1].split()[0] in "RD"
                    for task in os.listdir(f"/proc/{entry}/task")):
                return True
        except (OSError, IndexError):
            pass  # not a process, or gone
    return False


def leftovers(folder, known):
    """Names in a folder that should not be there."""
    return sorted(set(os.listdir(folder)) - set(known))


@contextlib.contextmanager
def another_user(*paths):
    """
    For what root may do and others may not: copies of the paths in a folder that any user may enter
    (a clone may stand below one of mode 0700), and options that make subprocess run as nobody;
    none where the tests are not run by root.
    """
    folder = tempfile.mkdtemp(prefix="xenfault-test-", dir="/tmp")
    try:
        os.chmod(folder, 0o755)
        copies = [shutil.copy(path, folder) for path in paths]
        for path in copies:
            os.chmod(path, 0o755)
        yield copies, {} if os.geteuid() else {"user": 65534, "group": 65534, "extra_groups": []}
    finally:
        shutil.rmtree(folder)
