#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""xenfault record with xenfault-drain, and a stand-in in the place of Xen's libraries.

In: the programs below $O (default build).  Out: cases.
"""
import errno
import functools
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

import lib
from lib import another_user, case, equal, finish

BUILD = os.path.join(lib.TOP, os.environ.get("O", "build"))
XENFAULT = os.path.join(BUILD, "xenfault")
STANDIN = os.path.join(BUILD, "tests", "standin.so")
tempfile.tempdir = "/tmp"  # another user has to come in, whatever TMPDIR says
FOUND = "0x00a5f000"  # an event mask that nobody else would leave
LIMIT = 300  # seconds until a capture counts as hanging


class Record:
    """A capture in a directory of its own."""

    def __init__(self, *args, command=(), program=XENFAULT, standin=STANDIN, stderr=subprocess.PIPE,
                 who=None, disk=None, **env):
        self.folder = tempfile.mkdtemp(prefix="xf-record-")
        os.chmod(self.folder, 0o777)
        self.log_path = os.path.join(self.folder, "log")
        self.out = os.path.join(self.folder, "out")
        os.mkdir(self.out)
        os.chmod(self.out, 0o777)
        if disk:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={disk}", "tmpfs", self.out], check=True)
        self.db_path = os.path.join(self.out, "a.db")
        self.raw_path = os.path.join(self.out, "a.raw")
        variables = dict(os.environ, LD_PRELOAD=standin, XFS_LOG=self.log_path, XFS_MASK=FOUND,
                         ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0")
        variables.update({"XFS_" + key: str(value) for key, value in env.items()})
        self.process = subprocess.Popen(
            [program, "record", "-o", self.db_path, *map(str, args), *(("--", *command) if command else ())],
            env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, **(who or {}))

    def wait_for_database(self):
        end = time.monotonic() + LIMIT
        while not os.path.exists(self.db_path):
            assert time.monotonic() < end and self.process.poll() is None, "no database appears"
            time.sleep(0.01)
        return self

    def finish(self, status=None):
        try:
            _, said = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("it does not end") from None
        self.said = (said or b"").decode()
        self.log = open(self.log_path).read().splitlines() if os.path.exists(self.log_path) else []
        if status is not None:
            equal(self.process.returncode, status, f"exit status ({self.said})")
        return self

    def stop(self, number=signal.SIGINT, status=0):
        self.process.send_signal(number)
        return self.finish(status)

    def restored(self, tracing="off"):
        equal(self.log[-1], f"close tracing {tracing} events {FOUND}", "state left in Xen")
        return self

    def left_nothing(self):
        equal(os.listdir(self.out), [], "files left")
        return self

    def rows(self, sql):
        db = sqlite3.connect(f"file:{self.db_path}?mode=rw", uri=True, timeout=20)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def valid(self, complete):
        equal(self.rows("PRAGMA integrity_check"), [("ok",)], "integrity")
        equal(self.rows("SELECT complete FROM trace"), [(complete,)], "complete")
        return self

    def truth(self):
        """Records that the stand-in wrote, and records that it told as lost."""
        lines = [line.split() for line in self.log if line.startswith("truth")]
        return sum(int(w[3]) for w in lines), sum(int(w[5]) for w in lines)

    def matches_truth(self):
        records, lost = self.truth()
        stored = self.rows("SELECT sum(records) FROM record_count WHERE raw_id = 0x201104")[0][0]
        equal((stored, self.rows("SELECT lost_records FROM trace")[0][0]), (records, lost),
              "records and losses")
        equal(self.rows("SELECT ifnull(sum(lost), 0) FROM losses"), [(lost,)], "losses")
        return self

    def gone(self):
        if os.path.ismount(self.out):
            subprocess.run(["umount", self.out], check=True)
        shutil.rmtree(self.folder, ignore_errors=True)


DOM0 = {"/sys/hypervisor/type": "xen\n", "/sys/hypervisor/properties/features": "00002fa1\n",
        "/sys/hypervisor/guest_type": "PV\n", "/dev/xen/privcmd": ""}
DOMU = dict(DOM0, **{"/sys/hypervisor/properties/features": "000023a1\n"})
PVH = dict(DOM0, **{"/sys/hypervisor/guest_type": "PVH\n"})


def without_node(files):
    return {path: text for path, text in files.items() if "privcmd" not in path}


def cause(files, args=("-T", "0.05"), status=6, **env):
    """What record says on a host with these files of the kernel."""
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        for name, text in files.items():
            path = root + name
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
            if "privcmd" in name:
                os.chmod(path, 0o600)
        raw = tempfile.mktemp(prefix="xf-raw-")
        r = Record(*args, "--raw", raw, ROOT=root, **env).finish(status).left_nothing()
    assert not os.path.exists(raw), "an empty raw file was left"
    r.gone()
    for line in r.said.splitlines():
        assert line.startswith("xenfault: "), r.said
    return r.said


CLOSED = {"FAIL": "interface_open:ENOENT"}
CAUSES = (
    ("not on Xen", "does not run under Xen", {}, CLOSED),
    ("a domU", "is a guest (domU)", DOMU, CLOSED),
    ("a domU that has the device", "is a guest (domU)", DOMU, {"FAIL": "physinfo:EPERM"}),
    ("a PVH dom0", "PVH dom0", without_node(PVH), CLOSED),
    ("a PVH dom0 that cannot map", "boot dom0 as PV", PVH, {"FAIL": "map:EINVAL"}),
    ("no privcmd device", "no /dev/xen/privcmd", without_node(DOM0), CLOSED),
    ("denied by XSM", "XSM/FLASK", DOM0, {"FAIL": "physinfo:EACCES"}),
    ("tools of another version", "Xen 4.99", DOM0, {"FAIL": "physinfo:EACCES", "XEN": "4.99"}),
    ("no trace buffers in Xen", "CONFIG_TRACEBUFFER", DOM0, {"FAIL": "sysctl:ENOSYS"}),
    ("another reader", "another program reads", DOM0, {"FAIL": "bind_virq:EEXIST"}),
    ("no event channels", "xen-evtchn", DOM0, {"FAIL": "evtchn_open:ENOENT"}),
    ("no memory for buffers", "ask for fewer", DOM0, {"FAIL": "set_size:ENOMEM"}),
    ("no ring that can be read", "no ring is left", DOM0, {"FAULT": "0:tinfo,1:tinfo"}),
)


@functools.cache
def message(number):
    """What record says last for one of the causes."""
    _, _, files, env = CAUSES[number]
    return cause(files, **env).splitlines()[-1]


for number, (name, text, _, _) in enumerate(CAUSES):
    @case(f"record, {name}: its own message, status 6, no file")
    def _(number=number, text=text):
        assert text in message(number), message(number)


@case("record: no two causes have the same message")
def _():
    messages = {message(number) for number in range(len(CAUSES))}
    equal(len(messages), len(CAUSES) - 1, "messages")  # the two of a domU are one


@case("record, not root: its own message, status 6, no file")
def _():
    if os.geteuid():
        return
    with another_user(XENFAULT, os.path.join(BUILD, "xenfault-drain"), STANDIN) as (paths, who):
        said = cause(DOM0, program=paths[0], standin=paths[2], who=who, FAIL="interface_open:EACCES")
    assert "run it as root" in said, said


@case("record without xenfault-drain: status 2, and --via still works")
def _():
    with tempfile.TemporaryDirectory() as folder:
        alone = shutil.copy(XENFAULT, folder)
        r = Record("-T", "1", program=alone).finish(2).left_nothing()
        assert "no xenfault-drain" in r.said and "--via" in r.said, r.said
        r.gone()
        r = Record("--via", f"cat {lib.unpack('dom0-smp.bin')}", program=alone).finish(0).valid(1)
        r.gone()


@case("record: a CPU that is not there is a usage error")
def _():
    assert "CPU 7" in cause(DOM0, args=("-c", "0,7"), status=2)


CALLS = ("interface_open physinfo sysctl set_size enable disable cpumap set_cpu_mask set_evt_mask "
         "evtchn_open bind_virq pending unmask memory_open map map_info").split()


@case("record: each call of Xen's that fails ends it with status 6 and a message")
def _():
    for call in CALLS:
        for name in ("EACCES", "EINVAL"):
            r = Record("-T", "5", FAIL=f"{call}:{name}", PRODUCER="records").finish(6)
            assert r.said.count("xenfault: ") >= 1, (call, r.said)
            if os.path.exists(r.db_path):
                r.valid(0)
            else:
                r.left_nothing()
            r.gone()


@case("record: what the stand-in wrote is in the database, and Xen is as it was")
def _():
    r = Record("--raw", tempfile.mktemp(), PRODUCER="records", BYTES=8000000).finish(0).restored()
    r.valid(1).matches_truth()
    equal(r.rows("SELECT cpu_hz, source FROM trace"), [(2445402000, "live")], "frequency and source")
    equal(r.rows("SELECT count(*) FROM events WHERE us IS NULL"), [(0,)], "events without a time")
    assert r.said.splitlines()[-1].startswith(r.db_path + ": "), r.said
    r.gone()


@case("record: losses name the knob and its value; --fail-on-loss is status 7")
def _():
    for args, status in (((), 0), (("--fail-on-loss",), 7)):
        r = Record("-S", "1", *args, PRODUCER="thread", BYTES=4000000, PAGES=1).finish(status)
        r.restored().valid(1).matches_truth()
        lost = r.truth()[1]
        assert lost and f"{lost} records were lost; pages of buffer for each CPU: 1 (asked for with -S: 1)" \
            in r.said, r.said
        r.gone()


@case("record: buffers of another size are told with both numbers")
def _():
    r = Record("-S", "40", PAGES=16, PRODUCER="records", BYTES=300000).finish(0).valid(1)
    assert "16 pages for each CPU, not the 40 asked for" in r.said, r.said
    r.gone()


@case("record: a ring that becomes absurd is told, the other one is kept")
def _():
    r = Record("-S", "4", FAULT="1:odd", PRODUCER="records", BYTES=300000).finish(0).valid(1)
    assert "CPU 1: its write index is absurd" in r.said, r.said
    equal(r.rows("SELECT DISTINCT pcpu FROM events"), [(0,)], "CPUs")
    r.gone()


@case("record: the last ring lost in mid-capture is status 6 with a database marked as cut short")
def _():
    r = Record("-S", "4", CPUS=1, FAULT="0:flicker-bad").finish(6)
    assert "no ring is left" in r.said, r.said
    if os.path.exists(r.db_path):
        r.valid(0)
    r.gone()


@case("record: no record at all is an error and leaves nothing")
def _():
    r = Record("-T", "0.3").finish(3).left_nothing().restored()
    assert "gave no data" in r.said, r.said
    r.gone()


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    @case(f"record: {signal.Signals(number).name} ends it at once, with a whole database")
    def _(number=number):
        r = Record("-S", "64", PRODUCER="calm").wait_for_database()
        time.sleep(0.3)
        before = time.monotonic()
        r.stop(number).restored().valid(1).matches_truth()
        taken = time.monotonic() - before
        assert taken < lib.SOON, f"{taken:.2f} s"
        r.gone()


@case("record: kill -9 of it leaves a valid database, and xenfault-drain leaves Xen as it was")
def _():
    r = Record("-S", "16", PRODUCER="calm").wait_for_database()
    time.sleep(0.3)
    r.process.kill()
    r.process.wait()
    end = time.monotonic() + LIMIT
    while "close" not in open(r.log_path).read():
        assert time.monotonic() < end, "xenfault-drain goes on"
        time.sleep(0.02)
    time.sleep(0.1)
    r.log = open(r.log_path).read().splitlines()
    r.process.stderr.close()
    r.process.stdout.close()
    r.restored().valid(0).gone()


def child_of(pid):
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = open(f"/proc/{entry}/stat").read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                return int(entry)
    raise AssertionError("no child")


@case("record: kill -9 of xenfault-drain is told with the remedy, the database is marked")
def _():
    r = Record("-S", "16", PRODUCER="calm").wait_for_database()
    os.kill(child_of(r.process.pid), signal.SIGKILL)
    r.finish(3).restored().valid(0)
    assert "as it was found" in r.said and f"{os.path.realpath(BUILD)}/xenfault-drain --off" in r.said, r.said
    r.gone()


@case("record: kill -9 of xenfault-drain and its guard: tracing is on, the remedy is told")
def _():
    r = Record("-S", "16", PRODUCER="calm").wait_for_database()
    drain = child_of(r.process.pid)
    os.kill(child_of(drain), signal.SIGKILL)
    os.kill(drain, signal.SIGKILL)
    r.finish(3).valid(0)
    assert f"still on in Xen; this turns it off: {os.path.realpath(BUILD)}/xenfault-drain --off" in r.said, r.said
    r.gone()


@case("record -- COMMAND: starts once tracing is on, ends the capture; what it did is told")
def _():
    r = Record("-S", "16", PRODUCER="calm",
               command=("sh", "-c", "grep -c enable $XFS_LOG; sleep 0.5; exit 3"))
    out = r.process.stdout.read()
    r.finish(0).restored().valid(1)
    equal(out, b"1\n", "calls that enable tracing before COMMAND")
    assert "sh ended with status 3" in r.said, r.said
    r.gone()


@case("record -- COMMAND that cannot be run: status 3, and Xen as it was")
def _():
    r = Record("-S", "16", command=("/does/not/exist",)).finish(3).restored().left_nothing()
    assert os.strerror(errno.ENOENT) in r.said and "/does/not/exist" in r.said, r.said
    r.gone()


@case("record --force: a failure leaves the old database and the old raw file as they were")
def _():
    r = Record("--version-of-the-day").finish(2)
    for path in (r.db_path, r.raw_path):
        with open(path, "w") as file:
            file.write("old")
    for extra in ({"FAIL": "bind_virq:EEXIST"}, {}):  # refused; and no record at all
        subprocess.run([XENFAULT, "record", "--force", "-o", r.db_path, "--raw", r.raw_path, "-T", "0.2"],
                       env=dict(os.environ, LD_PRELOAD=STANDIN, ASAN_OPTIONS=
                                "verify_asan_link_order=0:detect_leaks=0",
                                **{"XFS_" + k: v for k, v in extra.items()}),
                       capture_output=True, check=False)
        for path in (r.db_path, r.raw_path):
            equal(open(path).read(), "old", path)
    equal(sorted(os.listdir(r.out)), ["a.db", "a.raw"], "files")
    r.gone()


@case("record: a status line on a terminal, and none elsewhere")
def _():
    ours, theirs = pty.openpty()
    r = Record("-S", "16", "-T", "2", PRODUCER="calm", stderr=theirs)
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 4096):
            text += part
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    r.finish(0)
    assert re.search(rb"\d+ s  \d+ records/s  \d+ events  \d+ forks  \d+ lost  [\d.]+ MB", text), text
    r.gone()
    r = Record("-S", "16", "-T", "1", PRODUCER="calm").finish(0)
    assert "records/s" not in r.said, r.said
    r.gone()


@case("record: a stream larger than the disk waits for the database, and nothing is lost uncounted")
def _():
    try:
        r = Record("-S", "64", disk="64m", PRODUCER="thread", BYTES=150000000)
    except subprocess.CalledProcessError:
        print("   (no right to mount: left out)")
        return
    r.finish(0).restored().valid(1).matches_truth().gone()


@case("record: a producer at full speed, everything stored or counted as lost")
def _():
    began = time.monotonic()
    r = Record("-S", "64", PRODUCER="thread", BYTES=100000000).finish(0).restored().valid(1)
    r.matches_truth()
    records = r.rows("SELECT records FROM trace")[0][0]
    seconds = time.monotonic() - began
    print(f"   {records} records in {seconds:.1f} s: {records / seconds / 1e6:.2f} M records/s"
          f" stored while the producer ran")
    r.gone()


finish()
