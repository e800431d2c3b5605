// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest kernel symbols.  In: ELF (through libelf), System.map or kallsyms text.
 * Out: a table sorted by address, one name per address, searched by bisection.
 */
#include "cli/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a symbol without a size ends at the latest. */
#define LAST_BYTES    4096u
#define LONGEST_BYTES (1u << 20)
#define NO_PARENT     UINT32_MAX
#define MOST_NAME     1024	   /* bytes; a kernel's are at most 511 */
#define MOST_SYMBOLS  (1u << 21)   /* of a file; a kernel and its modules have some 200,000 */
#define MOST_TEXT     (256u << 20) /* bytes of a System.map or kallsyms; they have some 10 MB */
#define MOST_NESTED   16 /* functions within functions: beyond, those in between are left out */

/* Of two names for one address the lower rank wins. */
enum rank { RANK_BORDER, RANK_GLOBAL, RANK_WEAK, RANK_LOCAL, RANK_LABEL, RANK_END };

struct symbol {
	uint64_t address, end; /* end: first address behind it; while loading address + size or 0 */
	uint32_t name;	       /* offset into names */
	uint32_t parent;       /* nearest earlier symbol that reaches over this one's address */
	uint32_t module;       /* 0 = the kernel itself */
	uint8_t rank;
	uint8_t underscores;
	uint8_t depth; /* how many it lies in */
};

struct xf_symbols {
	struct symbol *table;
	size_t count, room;
	char *names;
	size_t names_used, names_room;
	size_t named; /* without the end marks */
};

struct reader {
	int fd;
	size_t pos, have;
	uint64_t total; /* bytes read */
	char buf[65536];
};

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n >= m && !strcmp(name + n - m, suffix);
}

/*
 * Labels of the linker script name no function.  The start of a part gives way to any function
 * there, so does its end; at the end of all text no function can begin.
 */
static enum rank rank_of(const char *name, enum rank rank)
{
	static const char *const starts[] = {"_text", "_stext", "_sinittext", "__init_begin"};
	static const char *const borders[] = {"_etext", "etext", "_einittext", "__init_end"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strcmp(name, starts[i]))
			return RANK_LABEL;
	for (size_t i = 0; i < sizeof(borders) / sizeof(*borders); i++)
		if (!strcmp(name, borders[i]))
			return RANK_BORDER;
	if (has_suffix(name, "_text_start"))
		return RANK_LABEL;
	if (has_suffix(name, "_text_end"))
		return RANK_END;
	/* The 32-bit twin of a system call that needs none of its own. */
	if (rank == RANK_GLOBAL && !strncmp(name, "__ia32_", 7))
		return RANK_WEAK;
	return rank;
}

/* Marks an end: no code behind it, no name for it. */
static bool is_end(const struct symbol *symbol)
{
	return symbol->rank == RANK_BORDER || symbol->rank == RANK_END;
}

/* Mapping symbols ($a, $d, $x) and the compiler's local labels name no function. */
static bool is_noise(const char *name)
{
	return !*name || *name == '$' || !strncmp(name, ".L", 2);
}

static bool add_name(struct xf_symbols *s, const char *name, size_t length, uint32_t *where)
{
	if (s->names_used + length + 1 > s->names_room) {
		size_t room = (s->names_room + length + 1) * 2;
		char *bigger = room <= UINT32_MAX ? realloc(s->names, room) : NULL;

		if (!bigger)
			return false;
		s->names = bigger;
		s->names_room = room;
	}
	*where = (uint32_t)s->names_used;
	memcpy(s->names + s->names_used, name, length);
	s->names[s->names_used + length] = '\0';
	s->names_used += length + 1;
	return true;
}

static int add(struct xf_symbols *s, const char *name, uint64_t address, uint64_t size,
	enum rank rank, uint32_t module, struct xf_error *err)
{
	char cut[MOST_NAME + 4];
	struct symbol *symbol;

	if (strnlen(name, MOST_NAME + 1) > MOST_NAME) {
		memcpy(cut, name, MOST_NAME);
		memcpy(cut + MOST_NAME, "...", 4);
		name = cut;
	}
	if (s->count == MOST_SYMBOLS)
		return xf_fail(err, XF_FORMAT,
			"a symbol file with more than %u functions: no kernel has so many",
			MOST_SYMBOLS);
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 1024;
		struct symbol *bigger = NULL;

		if (room < UINT32_MAX)
			bigger = realloc(s->table, room * sizeof(*bigger));
		if (!bigger)
			return xf_fail_nomem(err);
		s->table = bigger;
		s->room = room;
	}
	symbol = &s->table[s->count];
	*symbol = (struct symbol){
		.address = address, .end = size, .module = module, .parent = NO_PARENT};
	symbol->rank = rank_of(name, rank);
	symbol->underscores = (uint8_t)(strspn(name, "_") & 0x7f);
	if (!add_name(s, name, strlen(name), &symbol->name))
		return xf_fail_nomem(err);
	s->count++;
	return 0;
}

static int by_address(const void *one, const void *two)
{
	const struct symbol *a = one, *b = two;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->underscores != b->underscores)
		return a->underscores < b->underscores ? -1 : 1;
	return a->name < b->name ? -1 : 1; /* the order in the file */
}

/*
 * A 64-bit kernel lives in the upper half.  What such a file has in the lower one are offsets
 * (per-CPU variables and the like), which would name user addresses.
 */
static void drop_lower_half(struct xf_symbols *s)
{
	size_t kept = 0;

	if (!s->count || !(s->table[s->count - 1].address >> 63))
		return;
	for (size_t i = 0; i < s->count; i++)
		if (s->table[i].address >> 63)
			s->table[kept++] = s->table[i];
	s->count = kept;
}

/* One symbol per address; it takes the largest size of its namesakes. */
static void drop_aliases(struct xf_symbols *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct symbol *last = kept ? &s->table[kept - 1] : NULL;

		if (last && last->address == s->table[i].address) {
			if (s->table[i].end > last->end)
				last->end = s->table[i].end;
			continue;
		}
		s->table[kept++] = s->table[i];
	}
	s->count = kept;
}

static uint64_t add_capped(uint64_t address, uint64_t bytes)
{
	return address + bytes < address ? UINT64_MAX : address + bytes;
}

/* Turns sizes into ends and finds what each symbol lies in. */
static void set_ends(struct xf_symbols *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct symbol *symbol = &s->table[i];
		const struct symbol *next = i + 1 < s->count ? symbol + 1 : NULL;
		uint32_t outer = i ? (uint32_t)(i - 1) : NO_PARENT;
		uint64_t bytes = symbol->end;

		if (!bytes) {
			bool last = !next || next->module != symbol->module;

			bytes = last ? LAST_BYTES : LONGEST_BYTES;
			if (next && next->address - symbol->address < bytes)
				bytes = next->address - symbol->address;
		}
		symbol->end = is_end(symbol) ? symbol->address : add_capped(symbol->address, bytes);
		while (outer != NO_PARENT && s->table[outer].end <= symbol->address)
			outer = s->table[outer].parent;
		while (outer != NO_PARENT && s->table[outer].depth == MOST_NESTED)
			outer = s->table[outer].parent;
		symbol->parent = outer;
		symbol->depth = outer == NO_PARENT ? 0 : (uint8_t)(s->table[outer].depth + 1);
		s->named += !is_end(symbol);
	}
}

static void finish(struct xf_symbols *s, uint64_t offset, bool bits32)
{
	if (!s->count)
		return;
	for (size_t i = 0; i < s->count; i++) {
		s->table[i].address += offset;
		if (bits32)
			s->table[i].address &= UINT32_MAX;
	}
	qsort(s->table, s->count, sizeof(*s->table), by_address);
	drop_lower_half(s);
	drop_aliases(s);
	set_ends(s);
}

/* Text: ADDRESS TYPE NAME, and [MODULE] behind it. */

static bool fill(struct reader *reader, size_t want)
{
	memmove(reader->buf, reader->buf + reader->pos, reader->have - reader->pos);
	reader->have -= reader->pos;
	reader->pos = 0;
	while (reader->have < want) {
		ssize_t n = read(reader->fd, reader->buf + reader->have,
			sizeof(reader->buf) - 1 - reader->have);

		/* a signal that nobody waits for has no handler: this one is to end the command */
		if (n < 0)
			return false;
		if (!n)
			break;
		reader->have += (size_t)n;
		reader->total += (uint64_t)n;
	}
	return true;
}

/*
 * The next line without its end, or NULL at the end of the file; *failed after a read error.
 * A line with a NUL in it, as in a binary file, becomes one that cannot be parsed.
 */
static char *next_line(struct reader *reader, bool *failed)
{
	char *start = reader->buf + reader->pos;
	char *end = memchr(start, '\n', reader->have - reader->pos);

	*failed = false;
	if (!end) {
		*failed = !fill(reader, sizeof(reader->buf) - 1);
		if (*failed || !reader->have)
			return NULL;
		start = reader->buf;
		end = memchr(start, '\n', reader->have);
	}
	if (end) {
		reader->pos = (size_t)(end - reader->buf) + 1;
	} else {
		/* fill() leaves a byte free for this. */
		end = start + reader->have;
		reader->pos = reader->have;
	}
	*end = '\0';
	if (memchr(start, '\0', (size_t)(end - start)))
		*start = '?';
	else if (end > start && end[-1] == '\r')
		end[-1] = '\0';
	return start;
}

struct line {
	uint64_t address;
	size_t digits; /* 0 = undefined symbol, no address */
	char type;
	char *name;
	char *module; /* NULL = none */
};

static bool parse_line(char *text, struct line *line)
{
	static const char hex[] = "0123456789abcdefABCDEF";
	char *end;

	line->digits = strspn(text, hex);
	if (line->digits > 16)
		return false;
	line->address = line->digits ? strtoull(text, NULL, 16) : 0;
	text += line->digits;
	if (*text != ' ')
		return false;
	text += strspn(text, " ");
	line->type = *text;
	if (!line->type || text[1] != ' ' || !(line->name = text + 2)[0])
		return false;
	end = line->name + strcspn(line->name, " \t");
	line->module = NULL;
	if (*end) {
		*end++ = '\0';
		line->module = end + strspn(end, " \t");
	}
	return line->name[0] && (line->digits || strchr("Uwv", line->type));
}

static enum rank type_rank(char type)
{
	if (type == 'T')
		return RANK_GLOBAL;
	return type == 'W' || type == 'w' ? RANK_WEAK : RANK_LOCAL;
}

struct text_state {
	size_t lines, text_symbols;
	size_t digits;	 /* longest address */
	bool nonzero;	 /* some text symbol has an address */
	uint32_t module; /* numbers the runs of one module */
	char module_name[64];
};

static int add_line(struct xf_symbols *s, struct text_state *state, const struct line *line,
	struct xf_error *err)
{
	const char *module = line->module ? line->module : "";

	if (line->digits > state->digits)
		state->digits = line->digits;
	if (!line->digits || !strchr("tTwW", line->type) || is_noise(line->name))
		return 0;
	state->text_symbols++;
	state->nonzero |= line->address != 0;
	if (strncmp(module, state->module_name, sizeof(state->module_name) - 1)) {
		strncpy(state->module_name, module, sizeof(state->module_name) - 1);
		state->module++;
	}
	return add(s, line->name, line->address, 0, type_rank(line->type),
		*module ? state->module : 0, err);
}

static int unread(const char *path, struct xf_error *err)
{
	return errno == EINTR ? xf_fail(err, XF_INTERRUPTED, "interrupted")
			      : xf_fail_errno(err, XF_IO, "%s: cannot read", path);
}

static int load_text(struct xf_symbols *s, struct reader *reader, const char *path, uint64_t offset,
	struct xf_error *err)
{
	struct text_state state = {0};
	bool failed;
	char *text;
	int rc;

	while ((text = next_line(reader, &failed))) {
		struct line line;

		state.lines++;
		if (reader->total > MOST_TEXT)
			return xf_fail(err, XF_FORMAT,
				"%s: more than %u MB of text: no kernel has so many symbols", path,
				MOST_TEXT >> 20);
		if (!*text)
			continue;
		if (!parse_line(text, &line))
			return xf_fail(err, XF_FORMAT,
				"%s: not a symbol file: line %zu is not \"ADDRESS TYPE NAME\" (an ELF file "
				"with a symbol table, a System.map or a kallsyms text is needed)",
				path, state.lines);
		rc = add_line(s, &state, &line, err);
		if (rc)
			return rc;
	}
	if (failed)
		return unread(path, err);
	if (!state.text_symbols)
		return xf_fail(err, XF_FORMAT,
			"%s: no text symbols (types t, T, w, W) in %zu lines", path, state.lines);
	if (!state.nonzero)
		return xf_fail(err, XF_FORMAT,
			"%s: all addresses are zero: the kernel hid them from the reader; copy "
			"/proc/kallsyms as root, if need be after \"sysctl kernel.kptr_restrict=1\"",
			path);
	finish(s, offset, state.digits <= 8);
	return 0;
}

/* ELF */

struct elf_table {
	Elf *elf;
	Elf_Data *symbols, *indexes; /* indexes: section numbers that do not fit, or NULL */
	size_t count, strings;
};

static bool find_table(struct elf_table *table)
{
	Elf_Scn *section = NULL;
	size_t symtab = 0;
	GElf_Shdr header;

	while (!table->symbols && (section = elf_nextscn(table->elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB ||
			!header.sh_entsize)
			continue;
		table->symbols = elf_getdata(section, NULL);
		table->strings = header.sh_link;
		symtab = elf_ndxscn(section);
		if (table->symbols)
			table->count = table->symbols->d_size / header.sh_entsize;
	}
	section = NULL;
	while ((section = elf_nextscn(table->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB_SHNDX &&
			header.sh_link == symtab)
			table->indexes = elf_getdata(section, NULL);
	return table->symbols && table->count > 1 && table->count < INT_MAX;
}

/* The number of the executable section that the symbol is in, 0 = none. */
static size_t text_section(Elf *elf, const GElf_Sym *symbol, Elf32_Word extended)
{
	size_t index = symbol->st_shndx;
	GElf_Shdr header;
	Elf_Scn *section;

	if (index == SHN_XINDEX)
		index = extended;
	else if (index >= SHN_LORESERVE)
		return 0;
	section = index ? elf_getscn(elf, index) : NULL;
	if (!section || !gelf_getshdr(section, &header))
		return 0;
	return header.sh_flags & SHF_EXECINSTR && header.sh_flags & SHF_ALLOC ? index : 0;
}

static enum rank bind_rank(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
		return RANK_GLOBAL;
	case STB_WEAK:
		return RANK_WEAK;
	default:
		return RANK_LOCAL;
	}
}

static int add_elf_symbols(struct xf_symbols *s, struct elf_table *table, struct xf_error *err)
{
	for (size_t i = 1; i < table->count; i++) {
		Elf32_Word extended = 0;
		GElf_Sym symbol;
		const char *name;
		size_t section;
		int type, rc;

		if (!gelf_getsymshndx(table->symbols, table->indexes, (int)i, &symbol, &extended))
			continue;
		type = GELF_ST_TYPE(symbol.st_info);
		section = text_section(table->elf, &symbol, extended);
		if ((type != STT_FUNC && type != STT_NOTYPE) || !section)
			continue;
		name = elf_strptr(table->elf, table->strings, symbol.st_name);
		if (!name || is_noise(name))
			continue;
		/* The section stands for the module: no symbol without a size reaches far over its end. */
		rc = add(s, name, symbol.st_value, symbol.st_size, bind_rank(&symbol),
			(uint32_t)section, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int load_elf_table(
	struct xf_symbols *s, Elf *elf, const char *path, uint64_t offset, struct xf_error *err)
{
	struct elf_table table = {.elf = elf};
	GElf_Ehdr header;
	int rc;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return xf_fail(err, XF_FORMAT, "%s: damaged ELF file: %s", path, elf_errmsg(-1));
	if (header.e_type == ET_REL)
		return xf_fail(err, XF_FORMAT,
			"%s: a relocatable object (a module?), its addresses are not final; use the "
			"guest's /proc/kallsyms",
			path);
	if (!find_table(&table))
		return xf_fail(err, XF_FORMAT,
			"%s: ELF file without a symbol table (stripped, or cut short); use the "
			"unstripped vmlinux or its debug file, System.map or /proc/kallsyms",
			path);
	rc = add_elf_symbols(s, &table, err);
	if (rc)
		return rc;
	if (!s->count)
		return xf_fail(err, XF_FORMAT, "%s: no functions in the symbol table", path);
	finish(s, offset, header.e_ident[EI_CLASS] == ELFCLASS32);
	return 0;
}

static int load_elf(
	struct xf_symbols *s, int fd, const char *path, uint64_t offset, struct xf_error *err)
{
	Elf *elf;
	int rc;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return xf_fail_errno(err, XF_IO, "%s: ELF needs a file, not a pipe", path);
	if (elf_version(EV_CURRENT) == EV_NONE)
		return xf_fail(err, XF_INTERNAL, "libelf is too old: %s", elf_errmsg(-1));
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return xf_fail(err, XF_FORMAT, "%s: damaged ELF file: %s", path, elf_errmsg(-1));
	rc = load_elf_table(s, elf, path, offset, err);
	elf_end(elf);
	return rc;
}

/* Files that people take for a symbol file. */
static int refuse_known(const struct reader *reader, const char *path, struct xf_error *err)
{
	static const struct {
		const char *magic;
		size_t length;
		const char *advice;
	} known[] = {
		{"\x1f\x8b", 2, "compressed (gzip): decompress it first, as with gzip -d"},
		{"\xfd\x37\x7a\x58\x5a", 5, "compressed (xz): decompress it first, as with xz -d"},
		{"\x28\xb5\x2f\xfd", 4, "compressed (zstd): decompress it first, as with zstd -d"},
		{"BZh", 3, "compressed (bzip2): decompress it first, as with bzip2 -d"},
		{"\x04\x22\x4d\x18", 4, "compressed (lz4): decompress it first, as with lz4 -d"},
		{"MZ", 2,
			"a bootable kernel image, it has no symbols; use the vmlinux it was made from, "
			"System.map or /proc/kallsyms"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (reader->have >= known[i].length &&
			!memcmp(reader->buf, known[i].magic, known[i].length))
			return xf_fail(err, XF_FORMAT, "%s: %s", path, known[i].advice);
	return 0;
}

static int load(struct xf_symbols *s, struct reader *reader, const char *path, uint64_t offset,
	struct xf_error *err)
{
	int rc;

	if (!fill(reader, SELFMAG + 4))
		return unread(path, err);
	if (!reader->have)
		return xf_fail(err, XF_FORMAT, "%s: empty, not a symbol file", path);
	if (reader->have >= SELFMAG && !memcmp(reader->buf, ELFMAG, SELFMAG))
		return load_elf(s, reader->fd, path, offset, err);
	rc = refuse_known(reader, path, err);
	return rc ? rc : load_text(s, reader, path, offset, err);
}

int xf_symbols_load(
	struct xf_symbols **symbols, const char *path, uint64_t offset, struct xf_error *err)
{
	struct xf_symbols *s = calloc(1, sizeof(*s));
	struct reader *reader = malloc(sizeof(*reader));
	int rc;

	*symbols = NULL;
	if (!s || !reader) {
		free(s);
		free(reader);
		return xf_fail_nomem(err);
	}
	reader->pos = reader->have = 0;
	reader->total = 0;
	reader->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (reader->fd < 0) {
		rc = xf_fail_errno(err, XF_IO, "%s: cannot open", path);
	} else {
		rc = load(s, reader, path, offset, err);
		/* some are labels of the assembler, or marks */
		if (!rc && !xf_symbols_count(s))
			rc = xf_fail(err, XF_FORMAT,
				"%s: none of its text symbols is a function's name", path);
		close(reader->fd);
	}
	free(reader);
	if (rc)
		xf_symbols_free(s);
	else
		*symbols = s;
	return rc;
}

const char *xf_symbols_find(
	const struct xf_symbols *symbols, uint64_t rip, uint64_t *offset_in_function)
{
	size_t low = 0, high = symbols->count;
	uint32_t found;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->table[middle].address <= rip)
			low = middle + 1;
		else
			high = middle;
	}
	found = low ? (uint32_t)(low - 1) : NO_PARENT;
	while (found != NO_PARENT && rip >= symbols->table[found].end)
		found = symbols->table[found].parent;
	if (found == NO_PARENT)
		return NULL;
	if (offset_in_function)
		*offset_in_function = rip - symbols->table[found].address;
	return symbols->names + symbols->table[found].name;
}

size_t xf_symbols_count(const struct xf_symbols *symbols)
{
	return symbols->named;
}

void xf_symbols_free(struct xf_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->table);
	free(symbols->names);
	free(symbols);
}
