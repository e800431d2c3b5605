/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef XF_COMMON_VERSION_H
#define XF_COMMON_VERSION_H

#define XF_VERSION "0.1.0"

#endif
