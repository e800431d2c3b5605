/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The .sql files of this folder as strings (made by embed.sh). */
#ifndef XF_SCHEMAS_SQL_H
#define XF_SCHEMAS_SQL_H

extern const char xf_sql_facts[];
extern const char xf_sql_derived[];
extern const char xf_sql_views[];
extern const char xf_sql_fleet[];
extern const char xf_sql_postgresql[];

#endif
