// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rollback journals of SQLite.  In: a file.  Out: does it belong to that database?
 * The formats: https://www.sqlite.org/fileformat2.html, "The Rollback Journal", "The Database Header".
 */
#include "schemas/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER 28 /* bytes of a journal's, padded to a sector */

/* Offsets in the head of a database. */
enum {
	PAGE_SIZE = 16,
	COUNTER = 24,
	PAGES = 28,
	ENCODING = 56,
	USER_VERSION = 60,
	APPLICATION = 68
};

static uint32_t get32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Of a page: 1 stands for 65536, which two bytes do not hold. */
static uint32_t page_size(const unsigned char head[XF_DB_HEAD])
{
	uint32_t size = (uint32_t)head[PAGE_SIZE] << 8 | head[PAGE_SIZE + 1];

	return size == 1 ? 65536 : size;
}

/* The head of page 1 as it was before the change; false: that page was not changed. */
static bool first_page(int fd, off_t size, const unsigned char header[HEADER], uint32_t page,
	unsigned char head[XF_DB_HEAD])
{
	uint32_t sector = get32(header + 20);
	unsigned char number[4];

	for (off_t at = sector; at + 8 + page <= size;) {
		if (pread(fd, number, sizeof(number), at) != sizeof(number))
			break;
		if (get32(number) == 1)
			return pread(fd, head, XF_DB_HEAD, at + 4) == XF_DB_HEAD;
		/* a large change has several parts, each with a header of its own */
		if (!memcmp(number, header, sizeof(number)))
			at += sector;
		else if (get32(number))
			at += 8 + page;
		else
			at = (at / sector + 1) * sector;
	}
	return false;
}

static bool same(const unsigned char *a, const unsigned char *b, int offset)
{
	return !memcmp(a + offset, b + offset, 4);
}

static bool fits(int fd, off_t size, const unsigned char head[XF_DB_HEAD])
{
	static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	unsigned char header[HEADER], before[XF_DB_HEAD];
	uint32_t page = page_size(head), pages, sector;

	if (pread(fd, header, HEADER, 0) != HEADER || memcmp(header, magic, sizeof(magic)) != 0)
		return false;
	pages = get32(header + 16);
	sector = get32(header + 20);
	if (sector < 32 || sector > 65536 || sector & (sector - 1) || get32(header + 24) != page)
		return false;
	if (!first_page(fd, size, header, page, before))
		return get32(head + PAGES) == pages;
	if (page_size(before) != page || !same(head, before, ENCODING) ||
		!same(head, before, USER_VERSION) || !same(head, before, APPLICATION))
		return false;
	/* page 1 is written last of all, with the counter of changes raised by one */
	return get32(head + COUNTER) == get32(before + COUNTER) + 1 ||
	       (same(head, before, COUNTER) && get32(head + PAGES) == pages);
}

bool xf_journal_fits(const char *journal, const unsigned char head[XF_DB_HEAD])
{
	int fd = open(journal, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char first = 0;
	bool yes;

	/* what may not be read SQLite tells of */
	if (fd < 0)
		return errno == ENOENT || errno == EACCES;
	/* without a first byte there is nothing to be taken back */
	yes = !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	      (pread(fd, &first, 1, 0) < 1 || !first || fits(fd, st.st_size, head));
	close(fd);
	return yes;
}
