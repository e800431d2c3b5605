// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of cli/symbols.c.
 * In: tests/data/kallsyms.txt (run from the top folder), files made here.
 * Out: "ok NAME" or "FAIL NAME: why"; status 1 if one failed.
 */
#include "cli/symbols.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <unistd.h>

#define KALLSYMS "tests/data/kallsyms.txt"

static char scratch[] = "/tmp/xenfault-symbols-XXXXXX";

/* expect: name+0xoffset, or NULL for no function there */
static void check_find(
	const char *test, const struct xf_symbols *symbols, uint64_t rip, const char *expect)
{
	char got[256] = "none", why[600];
	uint64_t offset = 0;
	const char *name = xf_symbols_find(symbols, rip, &offset);

	if (name)
		snprintf(got, sizeof(got), "%s+0x%" PRIx64, name, offset);
	if (!expect)
		expect = "none";
	snprintf(why, sizeof(why), "0x%" PRIx64 ": %s, not %s", rip, got, expect);
	report(test, !strcmp(got, expect), why);
}

static void write_scratch(const void *bytes, size_t size)
{
	FILE *file = fopen(scratch, "wb");

	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
		perror(scratch);
		exit(1);
	}
}

static void check_refused(
	const char *test, const char *path, enum xf_code code, const char *fragment)
{
	struct xf_symbols *symbols = NULL;
	struct xf_error err = {0};
	int rc = xf_symbols_load(&symbols, path, 0, &err);
	char why[1200];

	snprintf(why, sizeof(why), "status %d, \"%s\"", rc, err.text);
	report(test, rc == -(int)code && !symbols && strstr(err.text, fragment), why);
	xf_symbols_free(symbols);
}

static void refuse_bytes(
	const char *test, const void *bytes, size_t size, enum xf_code code, const char *fragment)
{
	write_scratch(bytes, size);
	check_refused(test, scratch, code, fragment);
}

static struct xf_symbols *must_load(const char *test, const char *path, uint64_t offset)
{
	struct xf_symbols *symbols = NULL;
	struct xf_error err = {0};

	report(test, !xf_symbols_load(&symbols, path, offset, &err), err.text);
	return symbols;
}

static struct xf_symbols *load_text(const char *test, const char *text)
{
	write_scratch(text, strlen(text));
	return must_load(test, scratch, 0);
}

static void test_kallsyms(void)
{
	struct xf_symbols *s = must_load("kallsyms", KALLSYMS, 0);

	if (!s)
		return;
	check_find("kallsyms first", s, 0xffffffff81000000, "startup_64+0x0");
	check_find("kallsyms inside", s, 0xffffffff812d12c5, "copy_page_range+0xb75");
	check_find("kallsyms one byte before", s, 0xffffffff812d1b4f, "copy_page_range+0x13ff");
	check_find("kallsyms alias", s, 0xffffffff810a1171, "__x64_sys_fork+0x1");
	check_find("kallsyms cold part", s, 0xffffffff819fa750, "name_to_dev_t.cold+0xb");
	check_find(
		"kallsyms start label gives way", s, 0xffffffff81a43c50, "xen_hypercall_hvm+0x0");
	check_find("kallsyms end label is nothing", s, 0xffffffff81a4903d, NULL);
	check_find("kallsyms behind _etext", s, 0xffffffff81e01d40, NULL);
	check_find("kallsyms at _etext", s, 0xffffffff81e01d32, NULL);
	check_find("kallsyms before _etext", s, 0xffffffff81e01d31, "__x86_return_thunk+0x1");
	check_find("kallsyms module", s, 0xffffffffc02060a1, "crc_t10dif+0x1");
	check_find(
		"kallsyms last of a module", s, 0xffffffffc020d03f, "crc64_rocksoft_generic+0xfff");
	check_find("kallsyms behind a module", s, 0xffffffffc020d040, NULL);
	check_find("kallsyms last", s, 0xffffffffc03173bf, "xensyms_start+0xfff");
	check_find("kallsyms behind the last", s, 0xffffffffc03173c0, NULL);
	check_find("kallsyms before the first", s, 0xffffffff80ffffff, NULL);
	check_find("kallsyms user address", s, 0x7f0000401000, NULL);
	check_find("kallsyms highest address", s, UINT64_MAX, NULL);
	check_find("kallsyms zero", s, 0, NULL);
	xf_symbols_free(s);
}

static void test_offset(void)
{
	struct xf_symbols *s = must_load("offset", KALLSYMS, 0x1a000000);

	if (!s)
		return;
	check_find("offset applied", s, 0xffffffff9b0a1171, "__x64_sys_fork+0x1");
	check_find("offset leaves nothing", s, 0xffffffff810a1171, NULL);
	xf_symbols_free(s);
	s = must_load("offset negative", KALLSYMS, -(uint64_t)0x1000000);
	if (s)
		check_find("offset negative applied", s, 0xffffffff800a1171, "__x64_sys_fork+0x1");
	xf_symbols_free(s);
}

static void test_text(void)
{
	struct xf_symbols *s = load_text("System.map", "0000000000000000 D __per_cpu_start\n"
						       "0000000000001000 T per_cpu_text\n"
						       "                 U undefined\n"
						       "ffffffff81000100 T b_function\r\n"
						       "ffffffff81000000 t local_name\n"
						       "ffffffff81000000 W weak_name\n"
						       "ffffffff81000000 T global_name\n"
						       "ffffffff81000180 d data\n"
						       "ffffffff81000190 t $x\n"
						       "ffffffff81000200 T last");
	static const char map32[] = "c0100000 T startup_32\nc0101000 t fork32\n";

	if (!s)
		return;
	check_find("System.map global wins", s, 0xffffffff81000010, "global_name+0x10");
	check_find("System.map sorted, data skipped", s, 0xffffffff810001f0, "b_function+0xf0");
	check_find("System.map last line without newline", s, 0xffffffff81000204, "last+0x4");
	check_find("System.map no per-CPU offsets", s, 0x1004, NULL);
	report("System.map count", xf_symbols_count(s) == 3, "not 3 names");
	xf_symbols_free(s);

	write_scratch(map32, sizeof(map32) - 1);
	s = must_load("32-bit map", scratch, -(uint64_t)0x100000);
	if (s)
		check_find("32-bit map wraps at 32 bits", s, 0xc0001004, "fork32+0x4");
	xf_symbols_free(s);
}

/* More than a buffer of the reader holds, also through a pipe. */
static void test_long(void)
{
	struct xf_symbols *s;
	char command[128];
	FILE *file = fopen(scratch, "w");

	for (unsigned i = 0; file && i < 20000; i++)
		fprintf(file, "ffffffff%08x T function_with_a_long_name_%u\n", 0x81000000 + i * 16,
			i);
	if (!file || fclose(file))
		exit(1);
	s = must_load("long file", scratch, 0);
	if (s) {
		report("long file count", xf_symbols_count(s) == 20000, "not 20000 names");
		check_find("long file end", s, 0xffffffff8104e1f5,
			"function_with_a_long_name_19999+0x5");
	}
	xf_symbols_free(s);
	snprintf(command, sizeof(command), "cat %s", scratch);
	file = popen(command, "r");
	if (!file)
		exit(1);
	snprintf(command, sizeof(command), "/dev/fd/%d", fileno(file));
	s = must_load("pipe", command, 0);
	if (s)
		report("pipe count", xf_symbols_count(s) == 20000, "not 20000 names");
	xf_symbols_free(s);
	pclose(file);
}

static const struct {
	const char *name;
	uint64_t value, size;
	unsigned char bind, type, section; /* 1 = text, 2 = data */
} elf_symbols[] = {
	{"local_alias", 0x1000, 0x80, STB_LOCAL, STT_FUNC, 1},
	{"copy_page_range", 0x1000, 0x80, STB_GLOBAL, STT_FUNC, 1},
	{"outer", 0x1100, 0x100, STB_GLOBAL, STT_FUNC, 1},
	{"inner", 0x1140, 0x10, STB_LOCAL, STT_FUNC, 1},
	{"a_variable", 0x1180, 8, STB_GLOBAL, STT_OBJECT, 1},
	{"entry", 0x1200, 0, STB_GLOBAL, STT_NOTYPE, 1},
	{"$x", 0x1204, 0, STB_LOCAL, STT_NOTYPE, 1},
	{"next_entry", 0x1220, 0, STB_GLOBAL, STT_NOTYPE, 1},
	{"in_data", 0x9000, 0x10, STB_GLOBAL, STT_FUNC, 2},
};

static void add_section(Elf *elf, unsigned name, unsigned type, unsigned flags, uint64_t address,
	void *bytes, size_t size, Elf_Type kind, unsigned link)
{
	Elf_Scn *section = elf_newscn(elf);
	Elf_Data *data = elf_newdata(section);
	GElf_Shdr header;

	data->d_buf = bytes;
	data->d_size = size;
	data->d_type = kind;
	data->d_align = 8;
	gelf_getshdr(section, &header);
	header.sh_name = name;
	header.sh_type = type;
	header.sh_flags = flags;
	header.sh_addr = address;
	header.sh_link = link;
	if (type == SHT_SYMTAB)
		header.sh_entsize = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	gelf_update_shdr(section, &header);
}

static void write_elf(int class, unsigned type, uint64_t base, bool stripped)
{
	enum { N = sizeof(elf_symbols) / sizeof(*elf_symbols) };
	static char code[0x1000], names[512],
		sections[] = "\0.text\0.data\0.symtab\0.strtab\0.shstrtab";
	static Elf64_Sym space[N + 1];
	size_t used = 1, entry;
	Elf_Data table = {.d_buf = space, .d_type = ELF_T_SYM, .d_version = EV_CURRENT};
	GElf_Ehdr header;
	Elf *elf;
	int fd = open(scratch, O_RDWR | O_CREAT | O_TRUNC, 0600);

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_WRITE, NULL);
	gelf_newehdr(elf, class);
	gelf_getehdr(elf, &header);
	header.e_type = type;
	header.e_machine = class == ELFCLASS64 ? EM_X86_64 : EM_386;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_shstrndx = stripped ? 3 : 5;
	gelf_update_ehdr(elf, &header);
	entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	memset(space, 0, sizeof(space));
	memset(names, 0, sizeof(names));
	for (size_t i = 0; i < N; i++) {
		GElf_Sym symbol = {.st_name = (unsigned)used,
			.st_value = base + elf_symbols[i].value,
			.st_size = elf_symbols[i].size,
			.st_shndx = elf_symbols[i].section};

		symbol.st_info = GELF_ST_INFO(elf_symbols[i].bind, elf_symbols[i].type);
		if (class == ELFCLASS64)
			space[i + 1] = symbol;
		else
			((Elf32_Sym *)(void *)space)[i + 1] = (Elf32_Sym){symbol.st_name,
				(Elf32_Addr)symbol.st_value, (Elf32_Word)symbol.st_size,
				symbol.st_info, 0, symbol.st_shndx};
		strcpy(names + used, elf_symbols[i].name);
		used += strlen(elf_symbols[i].name) + 1;
	}
	table.d_size = entry * (N + 1);
	add_section(elf, 1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, base + 0x1000, code,
		sizeof(code), ELF_T_BYTE, 0);
	add_section(elf, 7, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, base + 0x9000, code, sizeof(code),
		ELF_T_BYTE, 0);
	if (!stripped) {
		add_section(elf, 13, SHT_SYMTAB, 0, 0, space, table.d_size, ELF_T_SYM, 4);
		add_section(elf, 21, SHT_STRTAB, 0, 0, names, used, ELF_T_BYTE, 0);
	}
	add_section(elf, 29, SHT_STRTAB, 0, 0, sections, sizeof(sections), ELF_T_BYTE, 0);
	if (elf_update(elf, ELF_C_WRITE) < 0) {
		printf("FAIL writing an ELF file: %s\n", elf_errmsg(-1));
		exit(1);
	}
	elf_end(elf);
	close(fd);
}

static void test_elf(int class, uint64_t base, const char *name)
{
	struct xf_symbols *s;
	char test[64];

	write_elf(class, ET_EXEC, base, false);
	snprintf(test, sizeof(test), "%s", name);
	s = must_load(test, scratch, 0);
	if (!s)
		return;
	snprintf(test, sizeof(test), "%s global wins", name);
	check_find(test, s, base + 0x1010, "copy_page_range+0x10");
	snprintf(test, sizeof(test), "%s behind a size", name);
	check_find(test, s, base + 0x1080, NULL);
	snprintf(test, sizeof(test), "%s function in a function", name);
	check_find(test, s, base + 0x1144, "inner+0x4");
	snprintf(test, sizeof(test), "%s after it the outer one", name);
	check_find(test, s, base + 0x1188, "outer+0x88");
	snprintf(test, sizeof(test), "%s no size, up to the next", name);
	check_find(test, s, base + 0x121f, "entry+0x1f");
	snprintf(test, sizeof(test), "%s no size, last one", name);
	check_find(test, s, base + 0x221f, "next_entry+0xfff");
	snprintf(test, sizeof(test), "%s behind the last", name);
	check_find(test, s, base + 0x2220, NULL);
	snprintf(test, sizeof(test), "%s not executable", name);
	check_find(test, s, base + 0x9004, NULL);
	snprintf(test, sizeof(test), "%s count", name);
	report(test, xf_symbols_count(s) == 5, "not 5 names");
	xf_symbols_free(s);
}

static void test_refused(void)
{
	char half[4096];
	size_t have;
	FILE *file;

	refuse_bytes("refused empty", "", 0, XF_FORMAT, "empty");
	refuse_bytes("refused hidden addresses",
		"0000000000000000 T _stext\n0000000000000000 T fork\n", 50, XF_FORMAT,
		"kptr_restrict");
	refuse_bytes("refused prose", "Not a symbol file\n", 18, XF_FORMAT, "not a symbol file");
	memset(half, 0, sizeof(half));
	refuse_bytes("refused zeros", half, sizeof(half), XF_FORMAT, "not a symbol file");
	memset(half, 'f', sizeof(half));
	refuse_bytes("refused endless line", half, sizeof(half), XF_FORMAT, "line 1");
	refuse_bytes("refused bad line", "ffffffff81000000 T a\nffffffff81000010 b\n", 40,
		XF_FORMAT, "line 2");
	refuse_bytes(
		"refused data only", "ffffffff81000000 D a\n", 21, XF_FORMAT, "no text symbols");
	refuse_bytes("refused gzip", "\x1f\x8b\x08\0\0\0\0\0\0\0", 10, XF_FORMAT, "gzip -d");
	refuse_bytes("refused xz", "\xfd\x37\x7a\x58\x5a\0\0\0", 8, XF_FORMAT, "xz -d");
	refuse_bytes("refused zstd", "\x28\xb5\x2f\xfd\0\0\0\0", 8, XF_FORMAT, "zstd -d");
	refuse_bytes("refused kernel image", "MZ\xea\x07\0\xc0\x07\x8c", 8, XF_FORMAT, "vmlinux");
	check_refused("refused no such file", "/nonexistent/System.map", XF_IO, "cannot open");
	check_refused("refused /dev/zero", "/dev/zero", XF_FORMAT, "not a symbol file");
	check_refused("refused folder", "/tmp", XF_IO, "cannot read");

	write_elf(ELFCLASS64, ET_EXEC, 0xffffffff81000000, true);
	check_refused("refused stripped ELF", scratch, XF_FORMAT, "stripped");
	write_elf(ELFCLASS64, ET_REL, 0, false);
	check_refused("refused relocatable ELF", scratch, XF_FORMAT, "relocatable");
	write_elf(ELFCLASS64, ET_EXEC, 0xffffffff81000000, false);
	file = fopen(scratch, "rb");
	have = file ? fread(half, 1, sizeof(half), file) : 0;
	if (file)
		fclose(file);
	refuse_bytes("refused cut ELF", half, have, XF_FORMAT, scratch);
	refuse_bytes("refused ELF magic only", "\177ELF", 4, XF_FORMAT, scratch);
}

int main(void)
{
	int fd = mkstemp(scratch);

	if (fd < 0) {
		perror(scratch);
		return 1;
	}
	close(fd);
	test_kallsyms();
	test_offset();
	test_text();
	test_long();
	test_elf(ELFCLASS64, 0xffffffff81000000, "ELF64");
	test_elf(ELFCLASS32, 0xc0100000, "ELF32");
	test_refused();
	unlink(scratch);
	return unit_status();
}
