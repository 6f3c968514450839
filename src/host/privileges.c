/* SPDX-License-Identifier: MIT
 *
 * privileges.c - switching to another user, permanently, and the rights that the control thread keeps.
 *
 * Groups first, then the user: afterwards we may no longer change groups. Real, effective and saved IDs
 * change together, and the change is verified: a process that wrongly believes it has dropped its privileges
 * is worse than one that never tried.
 *
 * setresuid(2) clears the effective capabilities, and PR_SET_KEEPCAPS saves the permitted ones, all of them;
 * capset(2) gives up those that are not wanted. Main thread.
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
#include "weir/base/log.h"
#include "weir/base/thread.h"
#include "capabilities.h"

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

void privileges_keep(struct privileges *p, const struct config *c)
{
	p->wanted = CAPABILITY_NET_BIND_SERVICE;
	for (size_t i = 0; i < c->frontend_count; i++) {
		const struct config_frontend *f = &c->frontends[i];

		if (f->tcp.mark != 0)
			p->wanted |= CAPABILITY_NET_ADMIN;
		for (size_t k = 0; k < f->bind_count; k++)
			if (f->binds[k].transparent)
				p->wanted |= CAPABILITY_NET_ADMIN;
	}
}

/* Will privileges_drop() take root's rights away? */
static bool leaves_root(const struct privileges *p)
{
	return geteuid() == 0 && p->change && p->uid != 0;
}

int privileges_give(const struct privileges *p, int fd)
{
	if (!leaves_root(p))
		return 0;
	return fchown(fd, p->uid, p->gid) != 0 ? -errno : 0;
}

/* Arranges that setresuid(2) leaves the permitted capabilities alone. Returns those to keep; 0 = none. */
static uint64_t prepare_to_keep(const struct privileges *p)
{
	struct capabilities own;
	int err;

	if (p->wanted == 0 || !leaves_root(p))
		return 0;
	err = capabilities_get(&own);
	if (!err && (own.permitted & p->wanted) == 0)
		return 0;
	/* A rehearsal that changes nothing. Once we are the user, there is no other way to get rid of the
	 * rest, and a filter of system calls may forbid this one. */
	if (!err)
		err = capabilities_set(&own);
	if (!err && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
		err = -errno;
	if (!err)
		return own.permitted & p->wanted;
	log_line(LOG_LEVEL_NOTICE,
		 "cannot keep the right to bind ports below 1024: %s; only a restart can open further ones",
		 strerror(-err));
	return 0;
}

/* For threads other than control. */
static int renounce_capabilities(void)
{
	return capabilities_set(&(struct capabilities){.permitted = 0});
}

/* After setresuid(2): everything is still permitted, and nothing is effective. */
static int keep_only(struct privileges *p, uint64_t kept)
{
	const int err = capabilities_set(&(struct capabilities){.permitted = kept});

	p->too_many = err != 0;
	if (err)
		return err;
	(void)prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0); /* would matter only to one who may change the user */
	thread_set_first(renounce_capabilities);
	p->kept = kept;
	return 0;
}

int privileges_drop(struct privileges *p)
{
	uint64_t kept;
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
	kept = prepare_to_keep(p);
	if (setresuid(p->uid, p->uid, p->uid) != 0)
		return -errno;
	err = kept != 0 ? keep_only(p, kept) : 0;
	if (err)
		return err;
	return is_dropped(p) ? 0 : -EPERM;
}

int privileges_raise_bind(const struct privileges *p)
{
	const struct capabilities raised = {.effective = p->kept, .permitted = p->kept};

	return p->kept != 0 ? capabilities_set(&raised) : 0;
}

void privileges_lower_bind(const struct privileges *p)
{
	const struct capabilities lowered = {.permitted = p->kept};
	const int err = p->kept != 0 ? capabilities_set(&lowered) : 0;

	if (err)
		log_line(LOG_LEVEL_ERROR, "cannot lower the capabilities of the control thread: %s",
			 strerror(-err));
}

int privileges_renounce(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? -errno : 0;
}

bool privileges_stay_root(const struct config_global *g)
{
	return geteuid() == 0 && g->user == NULL;
}
