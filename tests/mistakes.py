#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a newcomer gets wrong, and whether the answer says what to do.  Out: cases."""
import os
import resource
import shutil
import sqlite3
import subprocess

import lib
from lib import WORK, XENFAULT, another_user, case, database_path, equal, finish, run, unpack

FOLDER = os.path.join(WORK, "folder")
shutil.rmtree(FOLDER, ignore_errors=True)
os.makedirs(FOLDER)
DB = database_path("dom0-dirty")
TRACE = unpack("dom0-dirty.bin")


def mistake(status, words, *args, **more):
    """One line on standard error with all the words, and that exit status; what was imported, behind it."""
    done = run(*args, status=status, cwd=FOLDER, **more)
    assert done.stderr.count("\n") == 1 + (status == 0) and done.stderr.startswith("xenfault: "), done.stderr
    for word in words:
        assert word in done.stderr, f"{word!r} is not in: {done.stderr}"
    return done


def file(name, data):
    path = os.path.join(FOLDER, name)
    with open(path, "wb") as out:
        out.write(data)
    return path


def copy_of_db(name, *statements):
    path = os.path.join(FOLDER, name)
    shutil.copy(DB, path)
    db = sqlite3.connect(path)
    for sql in statements:
        db.execute(sql)
    db.commit()
    db.close()
    return path


@case("wrong file: text, nothing, compressed, a folder, no such file")
def _():
    mistake(4, ["not a Xen trace", "xentrace itself writes"], "import", file("t.txt", b"d0v0 text\n" * 99))
    mistake(4, ["empty"], "import", file("none", b""))
    mistake(4, ["compressed", "bzip2 -dc", "xenfault import"], "import", file("t.bz2", b"BZh91AY" + bytes(99)))
    mistake(3, ["directory"], "import", FOLDER)
    mistake(3, ["No such file"], "forks", "nothing.db")
    mistake(4, ["not a xenfault database", "xenfault import"], "forks", os.path.join(FOLDER, "t.txt"))


@case("a database where a trace is wanted, and the reverse")
def _():
    mistake(4, ["SQLite database", "xenfault info"], "import", DB)
    for command in ("forks", "pages", "report", "analyze"):
        mistake(4, ["xenfault import"], command, TRACE)
    mistake(4, ["xenfault import"], "export", "--to", "perfetto", TRACE)
    other = os.path.join(FOLDER, "other.db")
    sqlite3.connect(other).execute("CREATE TABLE t (a)").connection.close()
    mistake(4, ["another program", "xenfault import"], "forks", other)


@case("a file without a command")
def _():
    mistake(2, ["a command has to stand before", "xenfault import"], TRACE)
    mistake(2, ["a command has to stand before", "xenfault forks"], DB)


@case("no permission to read or to write")
def _():
    with another_user(XENFAULT, TRACE, DB) as ((program, trace, db), who):
        os.chmod(trace, 0)
        os.chmod(db, 0)
        for args, words in ((["import", trace], ["cannot read", "sudo"]),
                            (["forks", db], ["cannot read", "sudo"]),
                            (["import", "-o", "/proc/x.db", "-"], ["cannot write /proc/x.db"])):
            done = run(*args, status=3, program=program, stdin=open(TRACE, "rb"), **who)
            for word in words:
                assert word in done.stderr, done.stderr


@case("misspelt commands, options, formats and views")
def _():
    for wrong, right in (("forsk", "forks"), ("exprot", "export"), ("Import", "import"), ("rec", "record")):
        mistake(2, [f"did you mean {right}?", "xenfault help"], wrong, DB)
    mistake(2, ["xenfault help lists"], "quux")
    mistake(2, ["did you mean import?"], "help", "imprt")
    mistake(2, ["did you mean format?", "forks --help"], "forks", "--formt", "csv", DB)
    mistake(2, ["it is one of", "pages", "export"], "import", "--fork", "3", TRACE)
    mistake(2, ["needs a value"], "forks", DB, "--format")
    mistake(2, ["text, csv or jsonl"], "forks", "--format", "json", DB)
    mistake(2, ["did you mean perfetto?", "jsonl"], "export", "--to", "perfeto", DB)
    mistake(2, ["did you mean pt_sequences?"], "export", "--to", "csv", "--view", "pt_sequence", DB)
    mistake(2, ["--until 6"], "export", "--to", "6", DB)
    mistake(2, ["an argument is missing", "xenfault forks [OPTION ...] DB"], "forks")
    mistake(2, ["too many arguments"], "forks", DB, DB)


@case("misspelt columns and views in SQL, over a database and a trace")
def _():
    mistake(2, ["mechansim", "did you mean mechanism?"], "sql", DB, "SELECT mechansim FROM forks")
    mistake(2, ["did you mean pt_pages?"], "sql", DB, "SELECT f.pt_pges FROM forks f")
    mistake(2, ["did you mean forks?", "xenfault-db(5)"], "sql", DB, "SELECT * FROM fork_s")
    mistake(2, ["did you mean events?"], "sql", TRACE, "SELECT * FROM event")
    mistake(2, ["did you mean error_code?"], "sql", TRACE, "SELECT eror_code FROM events")
    mistake(2, ["syntax error"], "sql", DB, "SELCT 1")


@case("no forks in the capture")
def _():
    def forks(where):
        path = copy_of_db("none.db", "DELETE FROM fork", where)
        return run("forks", path, cwd=FOLDER).stderr
    assert "no fork was found: none ran" in forks("SELECT 1"), "writes but no fork"
    text = forks("DELETE FROM event")
    assert "no writes to page tables" in text and "xentrace -e" in text, text
    path = os.path.join(FOLDER, "none.db")
    assert "No fork was found" in run("report", path).stdout, "report"
    equal(run("forks", "--format", "csv", path).stderr, "", "csv is quiet")


@case("no symbols, the wrong ones, zeros, KASLR")
def _():
    stripped = os.path.join(FOLDER, "stripped")
    subprocess.run(["strip", "-o", stripped, XENFAULT], check=True)
    out = ["--force", "-o", os.path.join(FOLDER, "s.db")]
    mistake(4, ["without a symbol table", "System.map"], "import", *out, "--symbols", stripped, TRACE)
    mistake(4, ["not a symbol file"], "import", *out, "--symbols", os.path.join(FOLDER, "t.txt"), TRACE)
    zeros = file("zeros", b"0000000000000000 T _text\n0000000000000000 T copy_page_range\n" * 9)
    mistake(4, ["zero", "as root", "kptr_restrict"], "import", *out, "--symbols", zeros, TRACE)
    mistake(0, ["--kaslr-offset"], "import", *out, "--symbols", unpack("dom0-kallsyms.txt"),
            "--kaslr-offset", "0x1000000000", TRACE)
    mistake(2, ["behind the --symbols file"], "import", *out, "--kaslr-offset", "1", TRACE)


@case("an old database, and one of a newer version")
def _():
    mistake(4, ["older xenfault", "import the trace again"], "forks",
            copy_of_db("old.db", "PRAGMA user_version = 0"))
    mistake(4, ["newer xenfault", "schema 99", "upgrade"], "forks",
            copy_of_db("new.db", "PRAGMA user_version = 99"))


@case("a full disk")
def _():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
    path = os.path.join(FOLDER, "full.db")
    mistake(3, ["full"], "import", "-o", path, TRACE, preexec_fn=limit)
    assert not os.path.exists(path), "a part of a database is left"
    mistake(3, ["cannot write /dev/full", "No space left"], "report", "-o", "/dev/full", DB)
    if os.getuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        return
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=1m none {FOLDER}/disk &&"
                           f" {XENFAULT} import -o {FOLDER}/disk/x.db {TRACE}"],
                          capture_output=True, text=True) if not os.makedirs(FOLDER + "/disk") else None
    if "mount" in done.stderr:
        return
    equal(done.returncode, 3, done.stderr)
    assert "space" in done.stderr or "full" in done.stderr, done.stderr


@case("what exists is not replaced in silence")
def _():
    for args in (["import", "-o", DB, TRACE], ["report", "-o", DB, DB],
                 ["export", "--to", "jsonl", "-o", DB, DB]):
        done = run(*args, status=None, cwd=FOLDER)
        assert done.returncode in (2, 3) and "--force" in done.stderr, done.stderr


@case("version tells what is there")
def _():
    lines = run("version").stdout.splitlines()
    equal(lines[1], f"SQLite {sqlite3.sqlite_version}", "SQLite")
    for start in ("xenfault ", "libelf ", "ncurses ", "database schema ", "curses interface: ",
                  "live capture: ", "SQLite extension: "):
        assert any(line.startswith(start) for line in lines), f"{start} is missing"
    lone = subprocess.run([shutil.copy(XENFAULT, FOLDER), "version"], capture_output=True, text=True)
    assert "no xenfault-drain" in lone.stdout and "no xenfault.so" in lone.stdout, lone.stdout


finish()
