# SPDX-License-Identifier: GPL-2.0-or-later
"""A PostgreSQL server for a test.

In: Debian's package, which is installed if it is missing.  Out: a server on a private socket in a
temporary directory, run by a user who is not root, and what psql says.
"""
import glob
import os
import pwd
import shutil
import subprocess
import tempfile

from lib import HERE


def binaries():
    """Where initdb and pg_ctl are; None = nowhere."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/pg_ctl"))
    return os.path.dirname(found[-1]) if found else None


class Server:
    """Runs between `with` and its end."""

    def __init__(self):
        if not binaries():
            subprocess.run(["sh", os.path.join(HERE, "setup.sh"), "postgresql"], check=True)
        self.bin = binaries()
        # a socket's path has 107 bytes at most
        self.top = tempfile.mkdtemp(prefix="xfpg", dir="/tmp")
        self.data = os.path.join(self.top, "data")
        self.root = os.geteuid() == 0
        if self.root:
            self.user = pwd.getpwnam("nobody")
            os.chown(self.top, self.user.pw_uid, self.user.pw_gid)
        self.env = dict(os.environ, PGHOST=self.top, PGUSER="xenfault", PGDATABASE="fleet",
                        PGOPTIONS="", LC_ALL="C")

    def _run(self, program, *args):
        command = [os.path.join(self.bin, program), *args]
        if self.root:
            command = ["setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}",
                       "--clear-groups", *command]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              cwd=self.top, env=self.env, timeout=60, check=False)
        assert done.returncode == 0, f"{program}: {done.stdout}"

    def __enter__(self):
        try:
            self._run("initdb", "-D", self.data, "-A", "trust", "-N", "-U", "xenfault", "-E", "UTF8")
            self._run("pg_ctl", "-D", self.data, "-w", "-l", os.path.join(self.top, "log"), "-o",
                      f"-k {self.top} -c listen_addresses='' -c fsync=off -c full_page_writes=off"
                      " -c synchronous_commit=off -c max_wal_size=4GB", "start")
        except BaseException:
            shutil.rmtree(self.top, ignore_errors=True)
            raise
        return self

    def __exit__(self, *_):
        try:
            self._run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")
        finally:
            shutil.rmtree(self.top, ignore_errors=True)

    def psql(self, text, database="fleet", status=0):
        """Feeds psql; its rows as tuples of text, NULL as None."""
        done = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-F", "\x1f", "-P", "null=\x1e", "-v", "ON_ERROR_STOP=1",
             "-d", database], input=text, capture_output=True, text=True, env=self.env, timeout=120,
            check=False)
        assert status is None or done.returncode == status, \
            f"psql: exit status {done.returncode}: {done.stderr}"
        return [tuple(None if cell == "\x1e" else cell for cell in line.split("\x1f"))
                for line in done.stdout.split("\n")[:-1]]
