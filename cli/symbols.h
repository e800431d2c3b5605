/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for guest instruction addresses.
 * In: an ELF file with a symbol table, a System.map or the text of /proc/kallsyms, told apart by
 * content.  Out: the function an address lies in.
 */
#ifndef XF_CLI_SYMBOLS_H
#define XF_CLI_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct xf_symbols;

/*
 * Reads the text symbols of a file; offset is added to each address (KASLR), modulo 2^64, or 2^32 if
 * the file is a 32-bit one.  Text may come from a pipe.  Returns 0 and an object that the caller
 * frees, or a negative code and *symbols = NULL: -XF_IO unreadable, -XF_FORMAT not of use (the text
 * says why and what to do).
 */
int xf_symbols_load(
	struct xf_symbols **symbols, const char *path, uint64_t offset, struct xf_error *err);

/*
 * The name of the function that rip lies in, and (if the pointer is not NULL) how far into it; NULL
 * if rip is in none.  A symbol ends after its ELF size; without one at the next symbol, but at most
 * 1 MiB on, and 4096 bytes on where it is the last of the kernel or of a module.  The name lives as
 * long as the object.
 */
const char *xf_symbols_find(
	const struct xf_symbols *symbols, uint64_t rip, uint64_t *offset_in_function);

/* Number of addresses that have a name. */
size_t xf_symbols_count(const struct xf_symbols *symbols);

/* Frees the object; NULL is allowed. */
void xf_symbols_free(struct xf_symbols *symbols);

#endif
