/* SPDX-License-Identifier: MIT
 *
 * rig_config.h - a configuration from the seed; see rig_config.c.
 *
 * One thread. Tests only.
 */
#ifndef SIM_RIG_CONFIG_H
#define SIM_RIG_CONFIG_H

#include "weir/config/config.h"

#define RIG_FRONTENDS 2
#define RIG_BINDS 2 /* of a frontend */
#define RIG_BACKENDS 2
#define RIG_SERVERS 3 /* of a backend */

#define RIG_SOURCES 3 /* addresses of clients, where they matter: 0.0.0.0, 0.0.0.1 and so on */

/* Do backends of several workers have fallbacks in this seed? */
bool rig_has_fallbacks(void);
/* Do clients keep their server, and do they do so for a short while only? */
bool rig_has_sticky(void);
bool rig_sticky_expires(void);
/* What a backend of such a seed may have. */
void rig_make_sticky(struct config_backend *backend);
/* The rig's number of workers is known. Lasts until the next call. */
const struct config *rig_configure(int splice);
/* More of the same kind, zeroed before; they need a name. */
void rig_make_server(struct config_server *server, unsigned number);
void rig_make_bind(struct config_bind *bind);

#endif
