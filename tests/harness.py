# SPDX-License-Identifier: GPL-2.0-or-later
"""What the Python tests share: running the program, reading databases, counting cases.

In: the environment variable XENFAULT (default build/xenfault).  Out: "ok NAME", "FAIL NAME: why".
"""

import os
import sqlite3
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterable, Optional, Sequence, Union

PROGRAM = os.path.abspath(os.environ.get("XENFAULT", "build/xenfault"))
TIMEOUT = float(os.environ.get("XENFAULT_TEST_TIMEOUT", "60"))


class Wrong(Exception):
    """A case does not hold; the text says why."""


def check(condition: Any, why: str) -> None:
    """Raises Wrong unless the condition holds."""
    if not condition:
        raise Wrong(why)


def equal(what: str, got: Any, expected: Any) -> None:
    """Raises Wrong unless both are the same."""
    check(got == expected, f"{what}: {got!r}, not {expected!r}")


class Result:
    """Outcome of a run."""

    def __init__(self, status: int, out: bytes, err: bytes) -> None:
        self.status, self.out = status, out.decode(errors="replace")
        self.err = err.decode(errors="replace")

    def expect(self, *statuses: int) -> "Result":
        """Raises Wrong if the exit status is none of these, or a sanitizer spoke."""
        said = " | ".join(self.err.split("\n")[:6])
        check("ERROR: AddressSanitizer" not in self.err, "AddressSanitizer: " + self.err[:1500])
        check("runtime error:" not in self.err, "UBSan: " + self.err[:800])
        check(self.status in statuses, f"exit status {self.status}, not {statuses}: {said}")
        if self.status:
            check(self.err.strip(), f"exit status {self.status} without a message")
        return self


def run(
    *arguments: Union[str, Path],
    stdin: Optional[bytes] = None,
    timeout: float = TIMEOUT,
    **options: Any,
) -> Result:
    """Runs the program; a hang is a failure."""
    command = [PROGRAM, *map(str, arguments)]
    source = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    try:
        done = subprocess.run(
            command, **source, capture_output=True, timeout=timeout, check=False, **options
        )
    except subprocess.TimeoutExpired as late:
        raise Wrong(f"still running after {timeout:.0f} s: {' '.join(command[1:])}") from late
    return Result(done.returncode, done.stdout, done.stderr)


class Database:
    """A database of the program, opened as any SQLite client would."""

    def __init__(self, path: Path) -> None:
        check(path.exists(), f"no database {path.name}")
        self.connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def rows(self, sql: str, *values: Any) -> list[tuple]:
        """All rows."""
        return self.connection.execute(sql, values).fetchall()

    def dicts(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """All rows, by column name."""
        cursor = self.connection.execute(sql, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor]

    def one(self, sql: str, *values: Any) -> Any:
        """First column of the first row."""
        return self.connection.execute(sql, values).fetchone()[0]

    def dump(self, *, source: bool = False) -> dict[str, list[tuple]]:
        """Every row of every table; without the name of the source, to compare two imports."""
        result = {}
        for (name,) in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            table = self.dicts(f'SELECT * FROM "{name}"')
            if name == "capture" and not source:
                for row in table:
                    row.pop("source", None)
            result[name] = sorted(repr(sorted(row.items())) for row in table)
        return result

    def doubts(self) -> dict[str, int]:
        """Doubts of the collector, and findings of the analyzer, by code."""
        both = "SELECT code, count FROM doubt UNION SELECT code, count FROM finding"
        return dict(self.rows(both))

    def kinds(self) -> dict[str, int]:
        """Events by kind."""
        return dict(self.rows("SELECT kind, count(*) FROM events GROUP BY kind"))


def signed(value: int) -> int:
    """A 64-bit value as SQLite holds it."""
    return value - (1 << 64) if value >> 63 else value


class Suite:
    """Runs cases, each in a folder of its own."""

    def __init__(self, selected: Sequence[str] = ()) -> None:
        self.passed = self.failed = 0
        self.selected = selected

    def case(self, name: str, function: Callable[..., None], *arguments: Any) -> None:
        """One case: function(folder, *arguments) raises Wrong, or returns."""
        if self.selected and not any(part in name for part in self.selected):
            return
        try:
            with tempfile.TemporaryDirectory(prefix="xenfault-test-") as folder:
                function(Path(folder), *arguments)
        except (Wrong, sqlite3.Error) as why:
            self.failed += 1
            print(f"FAIL {name}: {why}", flush=True)
        else:
            self.passed += 1
            print(f"ok {name}", flush=True)

    def finish(self) -> int:
        """The last line, and the exit status."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def leftovers(folder: Path, known: Iterable[str]) -> list[str]:
    """Names in the folder that should not be there."""
    return sorted(set(os.listdir(folder)) - set(known))
