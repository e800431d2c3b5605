// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * COW breaks.  In: which fork write-protected which slots; write faults with the PTE write behind.
 * Out: COW faults per fork, and the VA range that each page-table page maps.
 *
 * A fault at VA and the write to the slot that maps it come together, so they tell where the page
 * lies in the address space; when that changes, the page serves another one and old claims are void.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/state.h"
#include "schemas/xen.h"

struct xf_claim {
	struct xf_claim *next;
	int64_t fork_id;
	int64_t event; /* the last one that made it */
	int64_t sequence_id;
	unsigned lane; /* of the fork: parent's and child's side have their own order */
	uint64_t slots[XF_SLOT_WORDS];
};

/* Where the pages of one side of a fork lie, as far as breaks have shown: in the order of the walk. */
struct xf_placed {
	int64_t sequence_id;
	uint64_t page, base;
	bool told; /* the row has it */
};

struct xf_walk_bases {
	struct xf_placed *items;
	size_t count, room;
};

static struct xf_pt_page *page_of(struct xf_analyzer *a, struct xf_domain *d, uint64_t page)
{
	struct xf_pt_page *p = xf_map_object(&d->pages, page, sizeof(*p));

	if (!p)
		xf_fail_nomem(a->err);
	else
		p->page = page;
	return p;
}

/* Claims up to an event, newer ones stay. */
static void drop_claims(struct xf_pt_page *p, int64_t up_to)
{
	struct xf_claim **c = &p->claims;

	while (*c) {
		struct xf_claim *old = *c;

		if (old->event > up_to) {
			c = &old->next;
			continue;
		}
		*c = old->next;
		free(old);
	}
}

static bool empty(const struct xf_claim *c)
{
	for (int i = 0; i < XF_SLOT_WORDS; i++)
		if (c->slots[i])
			return false;
	return true;
}

static unsigned lane_of_page(const struct xf_fork *fork, uint64_t page)
{
	for (unsigned i = 0; i < fork->nlanes; i++)
		if (fork->lanes[i].page == page)
			return i;
	return 0;
}

int xf_cow_protected(struct xf_analyzer *a, struct xf_fork *fork, uint64_t page, unsigned slot,
	int64_t sequence_id)
{
	struct xf_pt_page *p = page_of(a, fork->first_vcpu->domain, page);
	struct xf_claim *claim;

	if (!p)
		return -XF_INTERNAL;
	claim = p->claims;
	if (!claim || claim->fork_id != fork->id) {
		claim = calloc(1, sizeof(*claim));
		if (!claim)
			return xf_fail_nomem(a->err);
		claim->fork_id = fork->id;
		claim->next = p->claims;
		p->claims = claim;
	}
	claim->event = a->event_id;
	claim->sequence_id = sequence_id;
	claim->lane = lane_of_page(fork, page);
	if (slot == XF_ALL_SLOTS) {
		for (int i = 0; i < XF_SLOT_WORDS; i++)
			claim->slots[i] = ~0ull;
		while (claim->next) {
			struct xf_claim *old = claim->next;

			claim->next = old->next;
			free(old);
		}
		return 0;
	}
	claim->slots[slot / 64] |= 1ull << slot % 64;
	/* whoever protected it before does so no longer */
	for (struct xf_claim **c = &claim->next; *c;) {
		struct xf_claim *old = *c;

		old->slots[slot / 64] &= ~(1ull << slot % 64);
		if (empty(old)) {
			*c = old->next;
			free(old);
		} else {
			c = &old->next;
		}
	}
	return 0;
}

/* Keeps the list of the pages that map the same addresses, one for each address space. */
static int move_page(
	struct xf_analyzer *a, struct xf_domain *d, struct xf_pt_page *p, uint64_t base)
{
	uint64_t *head = p->has_base ? xf_map_get(&d->by_base, p->va_base) : NULL;

	if (head) {
		struct xf_pt_page *first = (struct xf_pt_page *)(uintptr_t)*head, **at = &first;

		while (*at && *at != p)
			at = &(*at)->next_same_base;
		if (*at)
			*at = p->next_same_base;
		*head = (uintptr_t)first;
	}
	head = xf_map_put(&d->by_base, base);
	if (!head)
		return xf_fail_nomem(a->err);
	p->next_same_base = (struct xf_pt_page *)(uintptr_t)*head;
	*head = (uintptr_t)p;
	return 0;
}

/* The bases of one side of a fork; made when the first one shows. */
static struct xf_walk_bases *bases_of(
	struct xf_analyzer *a, struct xf_domain *d, const struct xf_claim *claim)
{
	uint64_t key = (uint64_t)claim->fork_id * XF_LANES + claim->lane;
	struct xf_walk_bases *walk = xf_map_object(&d->walk_bases, key, sizeof(*walk));

	if (!walk)
		xf_fail_nomem(a->err);
	return walk;
}

/* The place of a sequence in the walk's list, or where it would stand. */
static size_t place_in(const struct xf_walk_bases *walk, int64_t sequence_id)
{
	size_t low = 0, high = walk->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (walk->items[middle].sequence_id < sequence_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool in_order(const struct xf_placed *before, const struct xf_placed *after)
{
	return before->page == after->page ? before->base == after->base
					   : before->base < after->base;
}

/*
 * Can the page that the fork wrote to in this walk lie at that address?  A walk ascends, so a page
 * lies above those that came before it and below those after it.  What does not fit shows that the
 * page was freed and serves other addresses.  1 yes, and remembered; 0 no; negative an error.
 * *sure: one break alone may be of a later life of the page; two that agree, a base that the page had
 * before, or neighbours on both sides that fit are not taken for chance.
 */
static int place(struct xf_analyzer *a, struct xf_domain *d, const struct xf_pt_page *p,
	const struct xf_claim *claim, uint64_t base, bool *sure)
{
	struct xf_walk_bases *walk = bases_of(a, d, claim);
	struct xf_placed new = {claim->sequence_id, p->page, base, false};
	size_t at;

	if (!walk)
		return -XF_INTERNAL;
	at = place_in(walk, new.sequence_id);
	if (at < walk->count && walk->items[at].sequence_id == new.sequence_id) {
		struct xf_placed *item = &walk->items[at];

		if (item->base != base)
			return 0;
		*sure = !item->told;
		item->told = true;
		return 1;
	}
	if ((at && !in_order(&walk->items[at - 1], &new)) ||
		(at < walk->count && !in_order(&new, &walk->items[at])))
		return 0;
	if (walk->count == walk->room) {
		size_t room = walk->room ? 2 * walk->room : 8;
		void *items = realloc(walk->items, room * sizeof(*walk->items));

		if (!items)
			return xf_fail_nomem(a->err);
		walk->items = items;
		walk->room = room;
	}
	memmove(walk->items + at + 1, walk->items + at, (walk->count++ - at) * sizeof(new));
	new.told = *sure = (p->has_base && p->va_base == base) || (at && at + 1 < walk->count);
	walk->items[at] = new;
	return 1;
}

/*
 * A fault and the write to the slot that maps its address come together.  The claim of that slot, if
 * there is one, is of a fork whose page lies there too, or of a life that the page has left behind.
 */
static int learn_base(struct xf_analyzer *a, struct xf_domain *d, struct xf_pt_page *p,
	struct xf_claim **claim, uint64_t base)
{
	bool sure = false, moved = p->has_base && p->va_base != base, stale;
	int code = 0, fits = 1;

	if (*claim)
		fits = place(a, d, p, *claim, base, &sure);
	if (fits < 0)
		return fits;
	/* decided while the claim is there: it may be among those that are dropped */
	stale = *claim && (!fits || (moved && (*claim)->event <= p->confirmed));
	if (!fits || moved)
		drop_claims(p, fits && *claim ? p->confirmed : INT64_MAX);
	if (stale)
		*claim = NULL;
	if (!p->has_base || moved)
		code = move_page(a, d, p, base);
	p->confirmed = a->event_id;
	p->has_base = true;
	p->va_base = base;
	if (!code && *claim && sure)
		code = xf_rows_set_base(a, (*claim)->sequence_id, base);
	return code;
}

/* The claim of a fork on a slot, NULL = none. */
static struct xf_claim *claim_on(const struct xf_pt_page *p, unsigned slot)
{
	for (struct xf_claim *c = p->claims; c; c = c->next)
		if (c->slots[slot / 64] >> slot % 64 & 1)
			return c;
	return NULL;
}

/* A claim is redeemed: one more COW fault of its fork. */
static int broken(struct xf_analyzer *a, struct xf_claim *claim, unsigned slot)
{
	uint64_t *n;

	if (!claim)
		return 0;
	claim->slots[slot / 64] &= ~(1ull << slot % 64);
	n = xf_map_put(&a->cow, (uint64_t)claim->fork_id);
	if (!n || !xf_map_put(&a->cow_new, (uint64_t)claim->fork_id))
		return xf_fail_nomem(a->err);
	++*n;
	return xf_rows_add_cow(a, claim->sequence_id);
}

int xf_cow_break(
	struct xf_analyzer *a, struct xf_vcpu *v, uint64_t page, unsigned slot, unsigned shift)
{
	struct xf_pt_page *p = page_of(a, v->domain, page);
	struct xf_claim *claim;
	int code;

	if (!p)
		return -XF_INTERNAL;
	claim = (v->fault_error & XF_FAULT_PRESENT) ? claim_on(p, slot) : NULL;
	code = learn_base(a, v->domain, p, &claim, v->fault_va & ~((4096ull >> shift << 12) - 1));
	/* P and W: a write to an entry that was there, but write-protected */
	if (code || (v->fault_error & 3) != 3)
		return code;
	return broken(a, claim, slot);
}

/* So many address spaces are asked which of them a fault belongs to, the newest first. */
#define MOST_TABLES 4096

int xf_cow_reuse(struct xf_analyzer *a, struct xf_vcpu *v)
{
	uint64_t *head = xf_map_get(&v->domain->by_base, v->fault_va & ~0x1fffffull);
	struct xf_pt_page *p = head ? (struct xf_pt_page *)(uintptr_t)*head : NULL;
	unsigned slot = v->fault_va >> 12 & 511, n = 0, looked = 0;
	struct xf_claim *newest = NULL;

	/*
	 * The record does not show the slot.  Whose table it is: one where the slot is still protected;
	 * a child that breaks it while its parent has not does so by copy, which shows.
	 */
	for (; p && looked < MOST_TABLES; p = p->next_same_base, looked++) {
		struct xf_claim *c = claim_on(p, slot);

		n += c != NULL;
		if (c && (!newest || c->event > newest->event))
			newest = c;
	}
	a->findings[XF_FINDING_COW_GUESS] += n > 1 || p;
	return broken(a, newest, slot);
}

void xf_cow_base(const struct xf_domain *d, struct xf_sequence *s)
{
	uint64_t *slot = s->has_page ? xf_map_get(&d->pages, s->page) : NULL;
	const struct xf_pt_page *p = slot ? (struct xf_pt_page *)(uintptr_t)*slot : NULL;

	if (!p || s->fork || !p->has_base || p->confirmed < s->first_event)
		return;
	s->has_base = true;
	s->va_base = p->va_base;
}

int xf_cow_finish(struct xf_analyzer *a)
{
	uint64_t fork_id, unused;
	size_t cursor = 0;
	int code = 0;

	/* forks that are still open take the count along when they are written */
	while (!code && xf_map_next(&a->cow_new, &cursor, &fork_id, &unused))
		code = xf_rows_set_cow(a, (int64_t)fork_id, *xf_map_get(&a->cow, fork_id));
	xf_map_free(&a->cow_new);
	return code;
}

void xf_cow_free(struct xf_domain *d)
{
	uint64_t page, value;
	size_t cursor = 0;

	while (xf_map_next(&d->pages, &cursor, &page, &value)) {
		drop_claims((struct xf_pt_page *)(uintptr_t)value, INT64_MAX);
		free((void *)(uintptr_t)value);
	}
	cursor = 0;
	while (xf_map_next(&d->walk_bases, &cursor, &page, &value)) {
		struct xf_walk_bases *walk = (struct xf_walk_bases *)(uintptr_t)value;

		if (walk)
			free(walk->items);
		free(walk);
	}
	xf_map_free(&d->walk_bases);
	xf_map_free(&d->pages);
	xf_map_free(&d->by_base);
}
