#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Proves log-dirty mode with nested paging on a real Xen: the trace against Xen's own dirty bitmaps.

Boots Xen on a processor with SVM, which boots a PVH guest with a working set of known size; runs hap.guest
in dom0.  In: programs below $O (default build).  Out: cases.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check, equal  # noqa: E402
from xenrig import BUILD, HERE, TOP, run_boots  # noqa: E402

TOOLS = "/usr/lib/xen-4.17/bin/"
SET = 1000  # pages that the guest writes to all the time, see init below
INIT = """#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
exec /bin/dirtyset %d 50 >/dev/hvc0 2>&1
""" % SET


def bitmaps(r, name):
    """What each reading of the bitmap found: round -> set of gfns."""
    found = {}
    for line in r.text(name).splitlines():
        number, gfn = line.split()
        found.setdefault(int(number), set()).add(int(gfn, 16))
    return found


def domid(r):
    return int(r.text("domid"))


def guest_ran(r):
    equal(r.exit("create"), 0, "exit status of xl create: " + r.text("create.out"))
    check(f"dirtyset pages={SET}" in r.text("guest.log"), "the guest's console: " + r.text("guest.log")[-2000:])
    equal((r.exit("rounds"), r.exit("migrate")), (0, 0), "exit statuses")


def rounds_are_the_bitmaps(r):
    db, wanted = r.imported("rounds.bin"), bitmaps(r, "rounds.out")
    equal(sorted(wanted), [1, 2, 3, 4, 5, 6], "rounds in which pages were dirty")
    equal(db.execute("SELECT domid, mechanism, rounds, complete, ended_by FROM episodes").fetchall(),
          [(domid(r), "hap", 6, 1, "off")], "episode")
    for number, gfns in wanted.items():
        found = {gfn for (gfn,) in db.execute("SELECT gfn FROM dirty_rounds WHERE round = ?", (number,))}
        equal(len(found), len(gfns), f"pages in round {number}")
        equal(found, gfns, f"the pages of round {number}")


def working_set_is_the_guests(r):
    db, wanted = r.imported("rounds.bin"), bitmaps(r, "rounds.out")
    always = set.intersection(*wanted.values())
    check(SET <= len(always) < SET + 300, f"{len(always)} pages in all rounds")
    equal({gfn for (gfn,) in db.execute("SELECT gfn FROM dirty WHERE rounds = 6")}, always, "pages in all rounds")
    check(db.execute("SELECT sum(user) FROM dirty WHERE rounds = 6").fetchone()[0] >= SET * 9 // 10,
          "pages of the working set first written in user mode")


def large_entries_are_split_once(r):
    """The recording began before the guest was built, of entries of 2 MiB."""
    db = r.imported("rounds.bin")
    split, regions, user = db.execute("SELECT count(*), count(DISTINCT gfn / 512), sum(user) FROM dirty_rounds"
                                      " JOIN dirty USING (episode_id, gfn) WHERE dirty_rounds.split").fetchone()
    equal(split, regions, "splits, and regions of 2 MiB that were split")
    check(split >= SET // 512 and user > 0, f"{split} splits, {user} of them by user mode")
    equal(db.execute("SELECT sum(split) FROM dirty").fetchone()[0], split, "pages that split one")


def nothing_without_the_mode(r):
    db = r.imported("plain.bin")
    equal(db.execute("SELECT count(*) FROM episodes").fetchone()[0], 0, "episodes")
    equal(db.execute("SELECT count(*) FROM npfs WHERE what = 'dirty'").fetchone()[0], 0, "pages dirtied")
    for command in ("episodes", "dirty"):
        said = subprocess.run([os.path.join(BUILD, "xenfault"), command, r.path("plain.bin.imported")],
                              capture_output=True, text=True, check=True).stderr
        check("nested paging (HAP): " in said and f": d{domid(r)}\n" in said, f"{command}: {said}")


def forks_of_others_are_not_all(r):
    r.imported("migrate.bin")
    done = subprocess.run([os.path.join(BUILD, "xenfault"), "forks", r.path("migrate.bin.imported")],
                          capture_output=True, text=True, check=True)
    check(" d0v" in done.stdout and f": d{domid(r)}\n" in done.stderr and "none is in this list" in done.stderr,
          done.stdout[:300] + done.stderr)


def migration_is_what_libxc_read(r):
    db, wanted = r.imported("migrate.bin"), bitmaps(r, "migrate.rounds")
    check(len(wanted) >= 2, f"libxc's rounds: {sorted(wanted)}")
    equal(db.execute("SELECT domid, mechanism, rounds, complete, ended_by FROM episodes").fetchall(),
          [(domid(r), "hap", len(wanted), 1, "removed")], "episodes")
    for number, gfns in wanted.items():
        found = {gfn for (gfn,) in db.execute("SELECT gfn FROM dirty_rounds WHERE round = ?", (number,))}
        equal(len(found), len(gfns), f"pages in round {number}")
        equal(found, gfns, f"the pages of round {number}")
    equal(db.execute("SELECT count(*) FROM (SELECT 1 FROM dirty_rounds GROUP BY round, gfn"
                     " HAVING count(*) > 1)").fetchone()[0], 0, "pages twice in a round")


def guest_files(folder):
    """The guest's kernel (dom0's) and an initrd with the workload, and the program that reads bitmaps."""
    subprocess.run([os.path.join(HERE, "xen", "boot.sh"), "--install"], check=True)
    root = os.path.join(folder, "root")
    for name in ("bin", "dev"):
        os.makedirs(os.path.join(root, name))
    shutil.copy(shutil.which("busybox") or "/bin/busybox", os.path.join(root, "bin"))
    shutil.copy(os.path.join(BUILD, "examples", "dirtyset"), os.path.join(root, "bin"))
    with open(os.path.join(root, "init"), "w", encoding="ascii") as file:
        file.write(INIT)
    os.chmod(os.path.join(root, "init"), 0o755)
    subprocess.run("find . | cpio -o -H newc 2>/dev/null | gzip -1 >../guest.initrd", shell=True, cwd=root, check=True)
    for name, *options in (("logdirty", "-lxenctrl"), ("ldspy.so", "-shared", "-fPIC")):
        subprocess.run([*os.environ.get("CC", "gcc").split(), "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-o",
                        os.path.join(folder, name), os.path.join(HERE, "xen", name.split(".")[0] + ".c"), *options],
                       check=True)
    return [os.path.join(folder, name) for name in ("guest.initrd", "logdirty", "ldspy.so")]


CASES = (guest_ran, rounds_are_the_bitmaps, working_set_is_the_guests, large_entries_are_split_once,
         nothing_without_the_mode, forks_of_others_are_not_all, migration_is_what_libxc_read)

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        tools = [TOOLS + name for name in ("xl", "xenstored", "xenconsoled", "xen-init-dom0", "libxl-save-helper")]
        # software SVM; with RDTSCP a guest loops on a check of emulation
        run_boots("xen-hap", (("hap.guest", CASES, lambda: guest_files(scratch) + tools, "",
                               {"RIG_CPU_FLAGS": ",-rdtscp,+svm", "RIG_KERNEL_AS": "guest.kernel"}),))
