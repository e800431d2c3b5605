/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles: unit costs of a machine, given or fitted to published times.
 * In: the text of a profile (examples/profiles/ tells the form).  Out: unit costs in microseconds,
 * and how far each point is missed.
 */
#ifndef XF_ANALYZER_COST_PROFILE_H
#define XF_ANALYZER_COST_PROFILE_H

#include "analyzer/cost/policy.h"

#define XF_PROFILE_POINTS 64
#define XF_PROFILE_SERIES 4

struct xf_point {
	int series;
	enum xf_policy_id mechanism; /* XF_POLICY_UNHOOK or XF_POLICY_EMULATE */
	double pages;		     /* 0 = not said */
	double ptes, time;	     /* microseconds */
	double fitted;		     /* by the model */
	double straight;	     /* by straight lines through the points with few entries */
};

/* What is fitted: base of each series, and costs of pages and entries. */
struct xf_model {
	double base[XF_PROFILE_SERIES], page, entry, exponent, emulate, pages;
	double worst; /* largest error of a point that was used, relative */
};

struct xf_profile {
	char name[64];
	struct xf_units units;
	struct xf_point points[XF_PROFILE_POINTS];
	size_t npoints;
	char series[XF_PROFILE_SERIES][32];
	int nseries;
	struct xf_model model, straight;
	bool has_straight;
};

/*
 * Parses and fits.  what names the text in messages.  Returns 0, or -XF_FORMAT with the line or the
 * reason why the points do not determine the costs.
 */
int xf_profile_parse(
	struct xf_profile *profile, const char *text, const char *what, struct xf_error *err);

/* The text of a profile that is built in, NULL = none of that name; their names, NULL at the end. */
const char *xf_profile_builtin(const char *name);
const char *xf_profile_name(size_t i);

#endif
