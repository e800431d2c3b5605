/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How nomem.c tells inject.c that a program begins.  In: nothing.  Out: an option of prctl(). */
#ifndef TESTS_TORTURE_MARKER_H
#define TESTS_TORTURE_MARKER_H

#define XF_TORTURE_BEGINS 0x78660001

#endif
