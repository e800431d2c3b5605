// SPDX-License-Identifier: GPL-2.0-or-later
/* Pictures of episodes.  In: rows of episode_page.  Out: struct xf_heat. */
#include "schemas/heat.h"

#include <stdio.h>
#include <stdlib.h>

#include "schemas/db.h"

static int load_regions(sqlite3 *db, int64_t episode, struct xf_heat *heat, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int64_t room = 0;
	int code = xf_db_prepare(db, &stmt,
		"SELECT DISTINCT frame / 512 FROM episode_page WHERE episode_id = ?1 AND round > 0"
		" ORDER BY 1",
		err);

	if (!code)
		sqlite3_bind_int64(stmt, 1, episode);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		code = 0;
		if (heat->nregions == room) {
			int64_t *grown;

			room = room ? 2 * room : 64;
			grown = realloc(heat->regions, (size_t)room * sizeof(*grown));
			if (!grown) {
				code = xf_fail_nomem(err);
				break;
			}
			heat->regions = grown;
		}
		heat->regions[heat->nregions++] = sqlite3_column_int64(stmt, 0);
	}
	sqlite3_finalize(stmt);
	return code;
}

/* How many regions lie before this one; -1 = it is not there. */
static int64_t region_rank(const struct xf_heat *heat, int64_t region)
{
	int64_t low = 0, high = heat->nregions - 1;

	while (low <= high) {
		int64_t middle = low + (high - low) / 2;

		if (heat->regions[middle] == region)
			return middle;
		if (heat->regions[middle] < region)
			low = middle + 1;
		else
			high = middle - 1;
	}
	return -1;
}

static int row_of_round(const struct xf_heat *heat, int64_t round)
{
	return (int)(((round - 1) * heat->rows + heat->rows - 1) / heat->rounds);
}

static int load_pages(sqlite3 *db, int64_t episode, struct xf_heat *heat, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = xf_db_prepare(db, &stmt,
		"SELECT round, frame FROM episode_page WHERE episode_id = ?1 AND round > 0", err);

	if (!code)
		sqlite3_bind_int64(stmt, 1, episode);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		int64_t round = sqlite3_column_int64(stmt, 0);
		int column = xf_heat_column(heat, sqlite3_column_int64(stmt, 1));
		int row = round <= heat->rounds ? row_of_round(heat, round) : -1;

		code = 0;
		if (row < 0 || row >= heat->rows || column < 0)
			continue;
		heat->pages[(int64_t)row * heat->columns + column]++;
		heat->of_row[row]++;
	}
	sqlite3_finalize(stmt);
	return code;
}

int xf_heat_load(sqlite3 *db, int64_t episode, int columns, int rows, struct xf_heat *heat,
	struct xf_error *err)
{
	char sql[128];
	int code;

	*heat = (struct xf_heat){.columns = columns};
	snprintf(sql, sizeof(sql),
		"SELECT ifnull(max(round), 0) FROM episode_page WHERE episode_id = %lld",
		(long long)episode);
	code = xf_db_int(db, sql, &heat->rounds, err);
	if (code || heat->rounds <= 0)
		return code;
	code = load_regions(db, episode, heat, err);
	if (code || !heat->nregions)
		return code;
	heat->rows = heat->rounds < rows ? (int)heat->rounds : rows;
	heat->pages = calloc((size_t)heat->rows * (size_t)columns, sizeof(*heat->pages));
	heat->of_row = calloc((size_t)heat->rows, sizeof(*heat->of_row));
	if (!heat->pages || !heat->of_row)
		return xf_fail_nomem(err);
	return load_pages(db, episode, heat, err);
}

void xf_heat_free(struct xf_heat *heat)
{
	free(heat->regions);
	free(heat->pages);
	free(heat->of_row);
	*heat = (struct xf_heat){0};
}

int64_t xf_heat_first_round(const struct xf_heat *heat, int row)
{
	return row * heat->rounds / heat->rows + 1;
}

int64_t xf_heat_last_round(const struct xf_heat *heat, int row)
{
	return xf_heat_first_round(heat, row + 1) - 1;
}

double xf_heat_share(const struct xf_heat *heat, int row, int column)
{
	double places = (double)heat->nregions * XF_HEAT_REGION / heat->columns;
	int64_t rounds = xf_heat_last_round(heat, row) - xf_heat_first_round(heat, row) + 1;
	double share = (double)heat->pages[(int64_t)row * heat->columns + column] /
		       (places * (double)rounds);

	return share < 1 ? share : 1;
}

int64_t xf_heat_frame(const struct xf_heat *heat, int column)
{
	/* the first place that column_of() puts there */
	int64_t place =
		(column * heat->nregions * XF_HEAT_REGION + heat->columns - 1) / heat->columns;

	return heat->regions[place / XF_HEAT_REGION] * XF_HEAT_REGION + place % XF_HEAT_REGION;
}

int xf_heat_column(const struct xf_heat *heat, int64_t frame)
{
	int64_t rank = region_rank(heat, frame / XF_HEAT_REGION);

	if (rank < 0)
		return -1;
	return (int)((rank * XF_HEAT_REGION + frame % XF_HEAT_REGION) * heat->columns /
		     (heat->nregions * XF_HEAT_REGION));
}
