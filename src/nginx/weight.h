/* SPDX-License-Identifier: MIT
 *
 * weight.h - the weights of an upstream: nginx has no largest one. Main thread.
 */
#ifndef WEIR_SRC_NGINX_WEIGHT_H
#define WEIR_SRC_NGINX_WEIGHT_H

#include "blocks.h"

#define NGINX_WEIGHT_MAX 256 /* weir's */

struct nginx_weights {
	unsigned long unit; /* the weights are in these, so that weir takes the largest */
	bool rounds;	    /* they are not multiples of it */
};

/* Chooses the unit for the servers of an upstream. */
void nginx_weights_read(struct nginx_weights *w, const struct old_line *block);
/* Our weight for `value`; says at `line` where it is rounded. */
const char *nginx_weight(struct arena *a, const struct nginx_weights *w, struct old_line *line,
			 const char *value);

#endif
