#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""hypervisor/xen-trace-points on small source trees made here.  Out: cases.

The trees have functions of the names that the program looks for, and nothing else of Xen's.
"""
import os
import re
import subprocess
import sys

from lib import TOP, case, check, equal, finish

PROGRAM = os.path.join(TOP, "hypervisor", "xen-trace-points")
SOURCES = {
    "arch/x86/smp.c": "flush_area_mask invalidate_interrupt new_tlbflush_clock_period",
    "arch/x86/flushtlb.c": "flush_area_local guest_flush_tlb_mask switch_cr3_cr4",
    "arch/x86/include/asm/flushtlb.h": "tlbflush_filter",
    "common/grant_table.c": "gnttab_unmap_grant_ref gnttab_unmap_and_replace gnttab_map_grant_ref gnttab_transfer",
    "include/xen/mm.h": "filtered_flush_tlb_mask",
    "include/xen/trace.h": "trace_time",
    "arch/x86/pv/emul-priv-op.c": "pv_emulate_privileged_op",
    "arch/x86/pv/ro-page-fault.c": "ptwr_emulated_update",
    "arch/x86/mm.c": "map_pages_to_xen modify_xen_mappings do_mmuext_op do_mmu_update __do_update_va_mapping"
                     " mod_l1_entry _get_page_type validate_page devalidate_page",
}
# lines inside of some functions, that others than ours stand around
LINES = {
    "do_mmuext_op": ["    for ( ; ; )", "    {", "        rc = 0;", "        again();", "    }"],
    "do_mmu_update": ["    cmd = req.ptr & 3;"],
    "ptwr_emulated_update": ["    trace_ptwr_emulation(addr, entry);"],
    "_get_page_type": ["        cpumask_t *mask = this_cpu(scratch);"],
    "validate_page": ["    int rc;", "", "    rc = 1;", "    return rc;"],
    "devalidate_page": ["    int rc;", "", "    rc = 2;", "    return rc;"],
}


def function(name):
    """A definition over two lines, after a declaration and a call that look like it."""
    body = "\n".join(LINES.get(name, ["    other();"]))
    return (f"int {name}(int a,\n    int (*b)(void));\n\nstatic int __attribute__((x))\n{name}(int a,\n"
            f"    int (*b)(void))\n{{\n{body}\n}}\n\nvoid calls_{name}(void)\n{{\n    {name}(1, NULL);\n}}\n")


def tree(folder, without="", extra=""):
    """A tree; without: a text that no file has."""
    for path, names in SOURCES.items():
        text = "".join(map(function, names.split()))
        guard = "#ifndef GUARD\n#define GUARD\n" if path.endswith(".h") else "#include <xen/types.h>\n"
        file = folder / "xen" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"/* {path} */\n{guard}{text}".replace(without or "\0", "gone") + extra)
    (folder / "xen/arch/x86/Makefile").write_text("obj-y += setup.o\nobj-y += smp.o\n")
    return contents(folder)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def run_program(*arguments, status=0):
    done = subprocess.run([sys.executable, PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    equal(done.returncode, status, f"exit status of {arguments}: {done.stderr[:800]}")
    return done.stdout + done.stderr


def without_marks(text):
    return "".join(line for line in text.splitlines(True) if not re.search(r"(/\*|#) xenfault( \*/)?$", line))


@case
def added_once_and_removed(folder):
    """All lines are there after one run and the same after two; without them the tree is what it was."""
    before = tree(folder)
    run_program("--check", folder, status=1)
    equal(contents(folder), before, "the tree after --check")
    run_program(folder)
    after = contents(folder)
    equal({path: without_marks(after[path]) for path in before}, before, "the tree but for marked lines")
    equal(sorted(set(after) - set(before)), ["xen/arch/x86/include/asm/xf-trace.h", "xen/arch/x86/xf-trace.c"], "files")
    check("nothing to do" in run_program(folder), "a second run changes something")
    equal(contents(folder), after, "the tree after a second run")
    run_program("--check", folder)
    run_program("--remove", folder)
    equal(contents(folder), before, "the tree after --remove")
    check("nothing to do" in run_program("--remove", folder), "nothing is left to remove")


@case
def places(folder):
    """The lines stand where they belong: first in a function, before or behind a line in it."""
    tree(folder)
    run_program(folder)
    after = contents(folder)
    mm = after["xen/arch/x86/mm.c"]

    def lines_of(text, name):
        found = re.search(rf"^{name}\(int a,\n[^\n]*\n\{{\n(.*?)^\}}", text, re.M | re.S)
        return [line.replace(" /* xenfault */", "").strip() for line in found[1].splitlines()]

    equal(lines_of(mm, "do_mmuext_op"), ["XF_CAUSE(XF_MMUEXT, 0);", "for ( ; ; )", "{", "rc = 0;",
                                         "xf_mmuext(&op, foreigndom);", "again();", "}"], "do_mmuext_op")
    equal(lines_of(mm, "validate_page"), ["int rc;", "XF_DO(xf_type(XF_VALIDATE, page, type, 0));", "", "rc = 1;",
                                          "xf_type(XF_VALIDATE + 1, page, type, rc);", "return rc;"], "validate_page")
    uva = lines_of(mm, "__do_update_va_mapping")
    check(uva[0].startswith("XF_CAUSE(XF_UVA") and uva[1].startswith("XF_DO(xf_uva("), f"order: {uva}")
    equal(lines_of(after["xen/arch/x86/smp.c"], "flush_area_mask")[0], "XF_FLUSH(mask, va, flags);", "flush_area_mask")
    check(after["xen/arch/x86/Makefile"].index("xf-trace.o") < after["xen/arch/x86/Makefile"].index("smp.o"), "Makefile")
    check("#define XF_OLD_TRACE" not in after["xen/arch/x86/xf-trace.c"], "this tree's trace() is the new one")


@case
def old_trace_function(folder):
    """Up to 4.18 records are written by another function."""
    tree(folder, without="trace_time")
    run_program(folder)
    check(contents(folder)["xen/arch/x86/xf-trace.c"].startswith("#define XF_OLD_TRACE\n"), "the old one")


@case
def an_older_version_is_replaced(folder):
    """Marked lines of before go, wherever they stand."""
    tree(folder)
    run_program(folder)
    wanted = contents(folder)
    file = folder / "xen/arch/x86/smp.c"
    file.write_text("old(); /* xenfault */\n" + file.read_text().replace("XF_FLUSH(", "XF_OLD("))
    (folder / "xen/arch/x86/xf-trace.c").write_text("old\n")
    run_program("--check", folder, status=1)
    run_program(folder)
    equal(contents(folder), wanted, "the tree")


def check_missing(folder, name):
    before = tree(folder, without=name)
    said = run_program(folder, status=2) + run_program("--check", folder, status=2)
    check("nothing was written" in said, said)
    equal(contents(folder), before, "the tree")
    return said


@case
def what_is_missing_is_named(folder):
    """All of it, and nothing is written: a function, a line in one, a file, one that is there twice."""
    for name in " ".join(SOURCES.values()).split():
        if name != "trace_time":
            check(f"{name}()" in check_missing(folder / name, name), f"{name} is not named")
    said = check_missing(folder / "line", "cmd = req.ptr")
    check("0 places in do_mmu_update()" in said, said)
    before = tree(folder / "twice", extra=function("switch_cr3_cr4"))
    said = run_program(folder / "twice", status=2)
    check("2 definitions of switch_cr3_cr4()" in said, said)
    equal(contents(folder / "twice"), before, "the tree")
    tree(folder / "file")
    (folder / "file/xen/arch/x86/smp.c").unlink()
    check("arch/x86/smp.c: No such file" in run_program(folder / "file", status=2), "a file")


@case
def never_half_done(folder):
    """A file that cannot be written: those before it get back what they held."""
    before = tree(folder)
    # the new text cannot be written where a directory stands
    (folder / "xen/include/xen/mm.h.xenfault-new").mkdir()
    check("nothing was changed" in run_program(folder, status=2), "the message")
    (folder / "xen/include/xen/mm.h.xenfault-new").rmdir()
    equal(contents(folder), before, "the tree")


@case
def usage(folder):
    run_program(status=2)
    run_program("--check", status=2)
    check("no Xen source tree" in run_program(folder, status=2), "an empty folder")
    check("--remove" in run_program("--help"), "help")


finish()
