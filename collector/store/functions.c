// SPDX-License-Identifier: GPL-2.0-or-later
/* SQL functions that show numbers as people read them.  In: integers.  Out: text. */
#include "collector/store/functions.h"

#include <stdio.h>

#include "schemas/xen.h"

static const char *hexadecimal(uint64_t value, char *text, size_t size)
{
	snprintf(text, size, "0x%llx", (unsigned long long)value);
	return text;
}

typedef const char *words(uint64_t value, char *text, size_t size);

static const struct function {
	const char *name;
	words *function;
} functions[] = {
	{"hex64", hexadecimal},
	{"pte_flags", xf_pte_flags},
	{"error_code_text", xf_error_code_text},
};

static void call(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct function *f = sqlite3_user_data(context);
	char text[XF_WORDS];

	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_text(context,
			f->function((uint64_t)sqlite3_value_int64(argv[0]), text, sizeof(text)), -1,
			SQLITE_TRANSIENT);
}

int xf_functions_register(sqlite3 *db)
{
	int code = SQLITE_OK;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && code == SQLITE_OK; i++)
		code = sqlite3_create_function_v2(db, functions[i].name, 1,
			SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
			(void *)(uintptr_t)&functions[i], call, NULL, NULL, NULL);
	return code;
}
