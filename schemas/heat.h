/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pages of a domain in log-dirty mode were dirtied when: a picture of an episode.
 * In: rows of episode_page.  Out: a matrix of rounds and places.
 *
 * A place is a guest frame in order, with the 2 MiB regions left out in which no page was dirtied.
 */
#ifndef XF_SCHEMAS_HEAT_H
#define XF_SCHEMAS_HEAT_H

#include <sqlite3.h>
#include <stdint.h>

#include "common/error.h"

#define XF_HEAT_REGION 512 /* pages of 4 KiB in 2 MiB */

struct xf_heat {
	int columns, rows;
	int64_t rounds; /* of the episode; a row stands for rounds / rows of them */
	int64_t nregions;
	int64_t *regions; /* number of each (its first gfn / XF_HEAT_REGION), in order */
	int64_t *pages;	  /* rows * columns: pages dirtied, added up over the rounds of the row */
	int64_t *of_row;  /* the same, of a whole row */
};

/*
 * Reads an episode into at most so many columns and rows (each from 1).  An episode without rounds
 * gives one without rows.  To be freed in any case.
 */
int xf_heat_load(sqlite3 *db, int64_t episode, int columns, int rows, struct xf_heat *heat,
	struct xf_error *err);
void xf_heat_free(struct xf_heat *heat);

/* Pages dirtied at a place in a row's rounds, as a share of all that are there: 0 .. 1. */
double xf_heat_share(const struct xf_heat *heat, int row, int column);

/* First and last round of a row, from 1. */
int64_t xf_heat_first_round(const struct xf_heat *heat, int row);
int64_t xf_heat_last_round(const struct xf_heat *heat, int row);

/* The guest frame at which a column begins, and the column of a frame (-1 = its region is not there). */
int64_t xf_heat_frame(const struct xf_heat *heat, int column);
int xf_heat_column(const struct xf_heat *heat, int64_t frame);

#endif
