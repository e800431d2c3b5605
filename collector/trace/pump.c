// SPDX-License-Identifier: GPL-2.0-or-later
/* A reader in a thread of its own.  In: a reader.  Out: its events, batch by batch. */
#include "collector/trace/pump.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BATCH	2048
#define BATCHES 4

struct batch {
	size_t n;
	int code; /* what ended the reader, 1 = nothing did, XF_AGAIN = it waits for its source */
	struct xf_event events[BATCH];
};

struct xf_pump {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct xf_reader *reader;
	struct xf_error err;	/* of the reader */
	size_t filled, emptied; /* batches so far */
	uint64_t offset, tsc_first;
	bool quit, interrupt;
	bool filling, held; /* the thread uses the reader; it must not */
	size_t at;	    /* in the batch being emptied */
	bool holding;	    /* the consumer is in a batch */
	struct batch batches[BATCHES];
};

/* Fills one batch; runs without the lock. */
static void fill(struct xf_pump *p, struct batch *b)
{
	b->n = 0;
	b->code = 1;
	while (b->n < BATCH) {
		b->code = xf_reader_next(p->reader, &b->events[b->n], &p->err);
		if (b->code != 1)
			break;
		b->n++;
	}
}

static void *work(void *data)
{
	struct xf_pump *p = data;
	int code = 1;

	pthread_mutex_lock(&p->lock);
	while (!p->quit && (code == 1 || code == XF_AGAIN)) {
		struct batch *b = &p->batches[p->filled % BATCHES];
		size_t waiting = p->filled - p->emptied;

		/* where the source is quiet, the next look is for the consumer to ask for */
		if (p->held || waiting == BATCHES || (waiting && code == XF_AGAIN)) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		p->filling = true;
		if (p->interrupt)
			xf_reader_interrupt(p->reader);
		pthread_mutex_unlock(&p->lock);
		fill(p, b);
		pthread_mutex_lock(&p->lock);
		p->filling = false;
		code = b->code;
		p->offset = xf_reader_offset(p->reader);
		if (!p->filled) {
			struct xf_reader_stats stats;

			xf_reader_stats(p->reader, &stats);
			p->tsc_first = stats.tsc_first;
		}
		p->filled++;
		pthread_cond_signal(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int xf_pump_start(struct xf_pump **pump, struct xf_reader *reader, struct xf_error *err)
{
	struct xf_pump *p = malloc(sizeof(*p));

	if (!p)
		return xf_fail_nomem(err);
	memset(p, 0, offsetof(struct xf_pump, batches));
	p->reader = reader;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	errno = pthread_create(&p->thread, NULL, work, p);
	if (errno) {
		free(p);
		return xf_fail_errno(err, XF_INTERNAL, "cannot start a thread");
	}
	*pump = p;
	return 0;
}

/* Comes to a batch with an event that was not handed over; returns as xf_pump_next(). */
static int refill(struct xf_pump *p, struct xf_error *err)
{
	struct batch *b = &p->batches[p->emptied % BATCHES];

	while (!p->holding || p->at == b->n) {
		int code = p->holding ? b->code : 1;

		if (code == XF_AGAIN) {
			/* the caller may want to stop; next time the following batch is looked at */
			b->code = 1;
			return XF_AGAIN;
		}
		if (code != 1) {
			if (code < 0)
				*err = p->err;
			return code;
		}
		pthread_mutex_lock(&p->lock);
		if (p->holding) {
			p->emptied++;
			pthread_cond_signal(&p->changed);
		}
		while (p->filled == p->emptied)
			pthread_cond_wait(&p->changed, &p->lock);
		pthread_mutex_unlock(&p->lock);
		p->holding = true;
		p->at = 0;
		b = &p->batches[p->emptied % BATCHES];
	}
	return 1;
}

int xf_pump_next(struct xf_pump *p, struct xf_event *event, struct xf_error *err)
{
	int code = refill(p, err);

	if (code == 1)
		*event = p->batches[p->emptied % BATCHES].events[p->at++];
	return code;
}

int xf_pump_batch(
	struct xf_pump *p, const struct xf_event **events, size_t *n, struct xf_error *err)
{
	int code = refill(p, err);

	if (code == 1) {
		struct batch *b = &p->batches[p->emptied % BATCHES];

		*events = b->events + p->at;
		*n = b->n - p->at;
		p->at = b->n;
	}
	return code;
}

void xf_pump_hold(struct xf_pump *p)
{
	pthread_mutex_lock(&p->lock);
	p->held = true;
	while (p->filling)
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

void xf_pump_release(struct xf_pump *p)
{
	pthread_mutex_lock(&p->lock);
	p->held = false;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void xf_pump_interrupt(struct xf_pump *p)
{
	pthread_mutex_lock(&p->lock);
	p->interrupt = true;
	pthread_mutex_unlock(&p->lock);
}

uint64_t xf_pump_tsc_first(struct xf_pump *p)
{
	return p->tsc_first; /* written once, before the first batch was handed over */
}

uint64_t xf_pump_offset(struct xf_pump *p)
{
	uint64_t offset;

	pthread_mutex_lock(&p->lock);
	offset = p->offset;
	pthread_mutex_unlock(&p->lock);
	return offset;
}

void xf_pump_stop(struct xf_pump *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->quit = true;
	p->interrupt = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->changed);
	free(p);
}
