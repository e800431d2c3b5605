/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rollback journal that lies beside a database: SQLite writes its pages back into whatever file has
 * the name.  In: a database's path and head.  Out: whether it is this database's own.
 */
#ifndef XF_SCHEMAS_JOURNAL_H
#define XF_SCHEMAS_JOURNAL_H

#include <stdbool.h>

#define XF_DB_HEAD 100 /* bytes of a database before its first page's content */

/*
 * May SQLite open the database with what lies there under the name of its journal?  Yes where there is
 * nothing, or nothing to be taken back.  The name tells nothing, nor does the journal: that it fits is
 * seen by the size of the pages, by the size of the database when the change began, and by the head of
 * the first page as it was then.
 */
bool xf_journal_fits(const char *journal, const unsigned char head[XF_DB_HEAD]);

#endif
