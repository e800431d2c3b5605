#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Completions in real shells on a pseudo terminal.  Out: cases."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import lib
from lib import WORK, XENFAULT, case, equal, finish, run, unpack

BUILD = os.path.dirname(XENFAULT)
TABLE = [line.split("\t") for line in run("help", "--table").stdout.splitlines()]
FOLDER = os.path.join(WORK, "complete")
os.makedirs(FOLDER, exist_ok=True)
shutil.copy(lib.database_path("dom0-dirty"), os.path.join(FOLDER, "some.db"))
if not os.path.exists(os.path.join(FOLDER, "trace.bin")):
    os.symlink(unpack("dom0-dirty.bin"), os.path.join(FOLDER, "trace.bin"))
FORKS = [str(n) for n in range(1, 34)]


class Shell:
    """An interactive shell: send keys, get what the terminal shows."""
    def __init__(self, argv, setup, ready):
        environment = {"PATH": BUILD + ":" + os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8",
                       "HOME": FOLDER, "COLUMNS": "1000", "LINES": "60"}
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(FOLDER)
            os.execvpe(argv[0], argv, environment)
        self.send("stty cols 1000 rows 60\n" + setup + f"\necho {ready[:3]}''{ready[3:]}\n")
        self.until(ready)

    def send(self, text):
        os.write(self.fd, text.encode())

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return ""
        try:
            return os.read(self.fd, 65536).decode(errors="replace")
        except OSError:
            return ""

    def until(self, text, seconds=120):
        got, end = "", time.time() + seconds
        while text not in got and time.time() < end:
            got += self.read(0.2)
        assert text in got, f"{text!r} did not come: {got!r}"
        return got

    def settle(self, quiet=0.15):
        """What comes until nothing comes for so long, and no program of the shell's has anything to do."""
        got, end = "", time.time() + lib.TIMEOUT
        while time.time() < end:
            part = self.read(quiet)
            got += part
            if not part and not lib.busy(self.pid):
                break
        return got

    def tab(self, line):
        """What stands on the terminal after the line and two tabs."""
        self.settle()
        self.send(line + "\t")
        got = self.settle()
        self.send("\t")
        got += self.settle()
        self.send("\x15")  # forget the line
        self.settle()
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x07|\r", "", got)

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


BASH = Shell(["bash", "--norc", "--noprofile", "-i"],
             "PS1='> '; bind 'set completion-query-items 1000'; bind 'set page-completions off';bind 'set show-all-if-ambiguous on';"
             f"bind 'set enable-bracketed-paste off'; source {BUILD}/completions/xenfault", "bash-ready")
ZSH = Shell(["zsh", "-f", "-i"],
            f"PS1='> '; fpath=({BUILD}/completions $fpath); autoload -U compinit; compinit -u -D;"
            "LISTMAX=1000; unsetopt zle_bracketed_paste; setopt no_always_last_prompt; zstyle ':completion:*' list-prompt ''",
            "zsh-ready") if shutil.which("zsh") else None

for name, shell in (("bash", BASH), ("zsh", ZSH)):
    if not shell:
        continue

    @case(f"{name}: commands and options, all of them")
    def _(shell=shell):
        got = set(re.findall(r"[\w-]+", shell.tab("xenfault ")))
        wanted = {f[1] for f in TABLE if f[0] == "C"}
        assert wanted <= got, f"missing: {wanted - got}"
        for command in ("import", "events", "export"):
            got = set(re.findall(r"--[\w-]+", shell.tab(f"xenfault {command} --")))
            wanted = {"--" + f[3] for f in TABLE if f[0] == "O" and f[1] == command}
            equal(got - {"--"}, wanted, f"options of {command}")

    @case(f"{name}: forks, domains and views of the database at hand")
    def _(shell=shell):
        got = re.findall(r"\b\d+\b", shell.tab("xenfault events some.db --fork "))
        assert set(FORKS) <= set(got), got
        got = re.findall(r"\bd\d+(?:v\d+)?\b", shell.tab("xenfault forks some.db --domain d"))
        assert {"d0", "d0v0", "d0v1"} <= set(got), got
        got = shell.tab("xenfault export some.db --to per")
        assert "fetto" in got or "perfetto" in got, got
        assert "gresql" in shell.tab("xenfault export some.db --to post"), "format"
        assert "pt_sequences" in shell.tab("xenfault export some.db --view pt"), "view"

    @case(f"{name}: the only database of the folder is at hand without being named")
    def _(shell=shell):
        got = re.findall(r"\b\d+\b", shell.tab("xenfault pages --fork 3"))
        assert {"30", "31", "32", "33"} <= set(got), got

    @case(f"{name}: columns inside the quotes of an SQL statement")
    def _(shell=shell):
        got = shell.tab("xenfault sql some.db 'SELECT fork_id, cow_fa")
        assert "ults" in got or "cow_faults" in got, got
        got = shell.tab("xenfault sql some.db 'SELECT mechanism FROM pt_seq")
        assert "uences" in got or "pt_sequences" in got, got

    @case(f"{name}: files elsewhere")
    def _(shell=shell):
        got = shell.tab("xenfault import tr")
        assert "ace.bin" in got or "trace.bin" in got, got

    shell.close()


@case("completions: made of the one table")
def _():
    text = subprocess.run([XENFAULT, "help", "--table"], capture_output=True, text=True).stdout
    for file in ("xenfault", "_xenfault"):
        assert text in open(os.path.join(BUILD, "completions", file), encoding="utf-8").read(), file


finish()
