/* SPDX-License-Identifier: MIT
 *
 * privileges.c - switching to another user, permanently.
 *
 * Groups first, then the user: afterwards we may no longer change groups. Real, effective and saved IDs
 * change together, and the change is verified: a process that wrongly believes it has dropped its privileges
 * is worse than one that never tried. Main thread.
 */
#include "weir/host/privileges.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "weir/base/check.h"

/* A number is used as is, so that an ID without a name works. */
static bool parse_id(const char *text, unsigned long *id)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*id = strtoul(text, &end, 10);
	return errno == 0 && *end == '\0' && *id < UINT32_MAX;
}

static int find_user(const char *name, struct privileges *p)
{
	const struct passwd *pw = getpwnam(name);
	unsigned long id;

	if (pw == NULL && parse_id(name, &id)) {
		pw = getpwuid((uid_t)id);
		p->uid = (uid_t)id;
		p->gid = (gid_t)id; /* no passwd entry; keeping the group would keep root's */
		if (pw == NULL)
			return 0;
	}
	if (pw == NULL)
		return -ENOENT;
	p->uid = pw->pw_uid;
	p->gid = pw->pw_gid;
	return snprintf(p->login, sizeof(p->login), "%s", pw->pw_name) < (int)sizeof(p->login) ? 0 : -ENOENT;
}

static int find_group(const char *name, struct privileges *p)
{
	const struct group *gr = getgrnam(name);
	unsigned long id;

	if (gr != NULL)
		p->gid = gr->gr_gid;
	else if (parse_id(name, &id))
		p->gid = (gid_t)id;
	else
		return -ENOENT;
	return 0;
}

int privileges_find(const struct config_global *g, struct privileges *p, const char **unknown)
{
	memset(p, 0, sizeof(*p));
	p->uid = getuid();
	p->gid = getgid();
	p->group_given = g->group != NULL;
	p->change = g->user != NULL || g->group != NULL;
	if (g->user != NULL && find_user(g->user, p) != 0) {
		*unknown = g->user;
		return -ENOENT;
	}
	if (g->group != NULL && find_group(g->group, p) != 0) {
		*unknown = g->group;
		return -ENOENT;
	}
	return 0;
}

static bool is_dropped(const struct privileges *p)
{
	uid_t r, e, s;
	gid_t rg, eg, sg;

	if (getresuid(&r, &e, &s) != 0 || getresgid(&rg, &eg, &sg) != 0)
		return false;
	return r == p->uid && e == p->uid && s == p->uid && rg == p->gid && eg == p->gid && sg == p->gid;
}

/* systemd's User= and Group= may have done it already. If `group` is not configured, the group of the unit is
 * as good as the user's own. */
static bool is_there_already(const struct privileges *p)
{
	struct privileges wanted = *p;

	if (geteuid() == 0)
		return false;
	if (!p->group_given)
		wanted.gid = getgid();
	return is_dropped(&wanted);
}

static int set_groups(const struct privileges *p)
{
	int err;

	if (p->login[0] != '\0')
		err = initgroups(p->login, p->gid);
	else if (p->change)
		err = setgroups(1, &p->gid);
	else
		err = setgroups(0, NULL);
	return err != 0 ? -errno : 0;
}

int privileges_drop(const struct privileges *p)
{
	int err;

	/* Nothing to do, and setgroups(2) would fail. */
	if (geteuid() != 0 && (!p->change || is_there_already(p)))
		return 0;
	err = set_groups(p);
	if (!p->change)
		/* Root without CAP_SETGID cannot drop its groups; that is no reason to refuse to start. */
		return err == -EPERM ? 0 : err;
	if (err)
		return err;
	if (setresgid(p->gid, p->gid, p->gid) != 0)
		return -errno;
	if (setresuid(p->uid, p->uid, p->uid) != 0)
		return -errno;
	return is_dropped(p) ? 0 : -EPERM;
}

int privileges_renounce(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? -errno : 0;
}

bool privileges_stay_root(const struct config_global *g)
{
	return geteuid() == 0 && g->user == NULL;
}
