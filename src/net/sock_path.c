/* SPDX-License-Identifier: MIT
 *
 * sock_path.c - the path of a listening Unix socket: claiming it, its mode and owner, releasing it.
 *
 * The owner of the folder may replace its contents, or the folder itself, between any two calls. So each step
 * opens the folder once, and mode and owner are set on the file that the socket created, never on a name.
 * Owns the lock. Any thread, one at a time.
 */
#include "weir/net/sock_path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/file.h"
#include "weir/sys/sys.h"

/* Only microseconds pass between locking and listening, and between the end of a socket and that of its
 * lock. */
#define WAIT_TRIES 50
#define WAIT_NS    10000000L

struct lock_name {
	char text[sizeof(((struct sockaddr_un *)NULL)->sun_path) + sizeof(".lock")];
};

static struct lock_name lock_name_of(const char *name)
{
	struct lock_name lock;

	(void)snprintf(lock.text, sizeof(lock.text), "%s.lock", name); /* fits: `name` is of a sun_path */
	return lock;
}

/* ---- finding the listener ---- */

/* The listening process, as of its listen(2) (SO_PEERCRED, unix(7)). */
static pid_t listener_of(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.pid : 0;
}

/* Connects to the name in this folder, wherever its path leads by now; by the path if that is too long. */
static int connect_at(int fd, int folder, const char *name, const struct addr *a)
{
	struct addr at = {.len = sizeof(at.un), .un.sun_family = AF_UNIX};
	const int len = snprintf(at.un.sun_path, sizeof(at.un.sun_path), "/proc/self/fd/%d/%s", folder, name);
	int err = -ENOENT;

	if (len < (int)sizeof(at.un.sun_path))
		err = sys_connect(fd, &at.sa, at.len);
	return err == -ENOENT ? sys_connect(fd, &a->sa, a->len) : err;
}

static int find_holder(int folder, const char *name, const struct addr *a, pid_t *holder)
{
	struct stat st;
	int fd, err;

	*holder = 0;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return -EADDRINUSE;
	fd = sys_socket(AF_UNIX);
	if (fd < 0)
		return fd;
	err = connect_at(fd, folder, name, a);
	if (!err)
		*holder = listener_of(fd);
	sys_close(fd);
	if (err == -ENOENT)
		return 0; /* its owner has just removed it */
	/* Only a refusal proves that nobody listens: a full backlog gives EAGAIN, another type of socket
	 * EPROTOTYPE. */
	return err == -ECONNREFUSED ? 1 : -EADDRINUSE;
}

int sock_path_look(const struct addr *a, pid_t *holder)
{
	const char *name;
	int folder, found;

	*holder = 0;
	if (a->un.sun_path[0] == '\0')
		return 0;
	folder = file_open_folder(a->un.sun_path, &name);
	if (folder < 0)
		return 0; /* nothing is there; bind(2) will report the reason */
	found = find_holder(folder, name, a, holder);
	file_close(folder);
	return found;
}

/* ---- claiming ---- */

static void pause_a_moment(void)
{
	const struct timespec pause = {.tv_nsec = WAIT_NS};

	(void)nanosleep(&pause, NULL); /* a signal merely shortens one of many waits */
}

/* The io_uring rings of a killed process keep its sockets open for some milliseconds after its end. */
static int look_past_the_dead(int folder, const char *name, const struct addr *a, pid_t *holder)
{
	int found = find_holder(folder, name, a, holder);

	for (int i = 0; i < WAIT_TRIES && found == -EADDRINUSE && *holder > 0; i++) {
		if (kill(*holder, 0) == 0 || errno != ESRCH)
			break;
		pause_a_moment();
		found = find_holder(folder, name, a, holder);
	}
	return found;
}

/* A lock file that we may not open was left behind by another user, usually root: a running process would
 * listen. */
static int replace_lock(struct sock_path *p, int folder, const char *name, const struct addr *a)
{
	const struct lock_name lock = lock_name_of(name);
	const int found = look_past_the_dead(folder, name, a, &p->holder);

	if (found < 0)
		return found;
	return unlinkat(folder, lock.text, 0) == 0 || errno == ENOENT ? -EAGAIN : -EACCES;
}

/* Takes the lock, waiting for a holder that is about to release it. */
static int take_lock(struct sock_path *p, int folder, const char *name, const struct addr *a)
{
	const struct lock_name lock = lock_name_of(name);
	pid_t holder, listener = 0;

	for (int i = 0; i < WAIT_TRIES; i++) {
		int fd = file_lock(folder, lock.text, &holder);

		if (fd == -EPERM)
			return -EACCES; /* we may not write to the folder */
		if (fd == -EACCES)
			fd = replace_lock(p, folder, name, a);
		if (fd >= 0) {
			p->lock_fd = fd;
			p->locked = true;
			return 0;
		}
		if (fd != -EAGAIN)
			return fd;
		if (find_holder(folder, name, a, &listener) < 0) {
			p->holder = holder != 0 ? holder : listener;
			return -EADDRINUSE;
		}
		p->holder = holder;
		pause_a_moment();
	}
	return -EADDRINUSE;
}

/* The lock is the process's, so we would get it a second time, and lose it when we release it. The same file
 * may have been named by another path. */
static int refuse_our_own(struct sock_path *p, int folder, const char *name, const struct addr *a)
{
	const int found = find_holder(folder, name, a, &p->holder);

	if (found == -EADDRINUSE)
		return p->holder == getpid() ? -EADDRINUSE : 0;
	return found < 0 ? found : 0;
}

int sock_path_claim(struct sock_path *p, const struct addr *a)
{
	const char *name;
	int folder, err;

	check(addr_is_unix(a));
	check(a->un.sun_path[0] != '\0');
	check(!p->locked);
	memset(p, 0, sizeof(*p));
	folder = file_open_folder(a->un.sun_path, &name);
	if (folder < 0)
		return folder;
	err = refuse_our_own(p, folder, name, a);
	if (!err)
		err = take_lock(p, folder, name, a);
	if (!err)
		err = look_past_the_dead(folder, name, a, &p->holder);
	/* Nobody listens, and while we hold the lock nobody is about to. */
	if (err > 0)
		err = unlinkat(folder, name, 0) == 0 || errno == ENOENT ? 0 : -errno;
	file_close(folder);
	if (err)
		sock_path_release(p, a);
	return err;
}

/* ---- owning ---- */

static int own_file(int file, const struct stat *st, const struct sock_listen *opt)
{
	const bool owned = (opt->uid == (uid_t)-1 || opt->uid == st->st_uid) &&
			   (opt->gid == (gid_t)-1 || opt->gid == st->st_gid);

	/* Changes only what differs: a sandbox may refuse chown(2) altogether. */
	if (!owned && fchownat(file, "", opt->uid, opt->gid, AT_EMPTY_PATH) != 0)
		return -errno;
	if (opt->mode < 0 || (st->st_mode & 07777) == (mode_t)opt->mode)
		return 0;
	return file_set_mode(file, (mode_t)opt->mode);
}

static int find_and_own(struct sock_path *p, int fd, const struct addr *a, const struct sock_listen *opt)
{
	struct stat st;
	const char *name;
	int folder, file, err;

	folder = file_open_folder(a->un.sun_path, &name);
	if (folder < 0)
		return folder;
	file = file_of_socket(fd, folder, name);
	file_close(folder);
	if (file < 0)
		return file == -ENOENT ? -ESTALE : file;
	err = fstat(file, &st) != 0 ? -errno : 0;
	if (!err) {
		p->bound = true;
		p->dev = st.st_dev;
		p->ino = st.st_ino;
		err = own_file(file, &st, opt);
	}
	file_close(file);
	return err;
}

/* Opens the file that is ours at the path. Its inode cannot be another's: our socket is open. */
static int open_ours(const struct sock_path *p, const struct addr *a, struct stat *st)
{
	const char *name;
	const int folder = file_open_folder(a->un.sun_path, &name);
	int file, err = 0;

	if (folder < 0)
		return folder;
	file = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		err = errno == ENOENT ? -ESTALE : -errno;
	file_close(folder);
	if (err)
		return err;
	if (fstat(file, st) != 0)
		err = -errno;
	else if (!p->bound || st->st_dev != p->dev || st->st_ino != p->ino)
		err = -ESTALE;
	if (err)
		file_close(file);
	return err ? err : file;
}

int sock_path_own_again(const struct sock_path *p, const struct addr *a, const struct sock_listen *opt)
{
	struct stat st;
	const int file = open_ours(p, a, &st);
	int err;

	if (file < 0)
		return file;
	err = own_file(file, &st, opt);
	file_close(file);
	return err;
}

/* May we give a file of ours to these? */
static int try_owner(uid_t uid, gid_t gid)
{
	const int fd = sys_socket(AF_UNIX); /* which has an owner, like a file */
	int err = 0;

	if (fd < 0)
		return fd;
	if (fchown(fd, uid, gid) != 0)
		err = -errno;
	sys_close(fd);
	return err;
}

int sock_path_try_own(const struct sock_path *p, const struct addr *a, const struct sock_listen *opt)
{
	struct stat st;
	const int file = open_ours(p, a, &st);
	bool owned;
	int err = 0;

	if (file < 0)
		return file;
	owned = (opt->uid == (uid_t)-1 || opt->uid == st.st_uid) &&
		(opt->gid == (gid_t)-1 || opt->gid == st.st_gid);
	/* Setting what it has needs the same rights, and changes nothing. */
	if (!owned && fchownat(file, "", st.st_uid, st.st_gid, AT_EMPTY_PATH) != 0)
		err = -errno;
	if (!err && !owned)
		err = try_owner(opt->uid, opt->gid);
	if (!err && opt->mode >= 0 && (st.st_mode & 07777) != (mode_t)opt->mode)
		err = file_set_mode(file, st.st_mode & 07777);
	file_close(file);
	return err;
}

int sock_path_mode(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	unsigned mask = 0;
	bool found = false;

	if (f == NULL)
		return -1;
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = sscanf(line, "Umask: %o", &mask) == 1;
	(void)fclose(f); /* it was only read */
	return found ? (int)(0777 & ~mask) : -1;
}

bool sock_path_plan_owner(const struct sock_listen *now, struct sock_listen *next)
{
	if (next->mode < 0 && now->mode >= 0)
		next->mode = sock_path_mode();
	if (next->uid == (uid_t)-1 && now->uid != (uid_t)-1)
		next->uid = geteuid();
	if (next->gid == (gid_t)-1 && now->gid != (gid_t)-1)
		next->gid = getegid();
	return next->mode != now->mode || next->uid != now->uid || next->gid != now->gid;
}

/* Which file bind(2) has made is unknown; while we hold the lock, one on which nobody listens may go. */
static void remove_unknown(const struct addr *a)
{
	const char *name;
	pid_t holder;
	const int folder = file_open_folder(a->un.sun_path, &name);

	if (folder < 0)
		return; /* the next start removes it */
	if (find_holder(folder, name, a, &holder) == 1)
		(void)unlinkat(folder, name, 0);
	file_close(folder);
}

int sock_path_own(struct sock_path *p, int fd, const struct addr *a, const struct sock_listen *opt)
{
	const int err = find_and_own(p, fd, a, opt);

	if (err && p->locked && !p->bound)
		remove_unknown(a);
	return err;
}

/* ---- releasing ---- */

void sock_path_release(struct sock_path *p, const struct addr *a)
{
	const struct stat ours = {.st_dev = p->dev, .st_ino = p->ino};
	struct lock_name lock;
	const char *name;
	int folder;

	if (!p->locked && !p->bound)
		return;
	folder = file_open_folder(a->un.sun_path, &name);
	/* After privileges are dropped we may be unable to write to the folder; the next start finds a path
	 * on which nobody listens and removes it. */
	if (folder >= 0 && p->bound && file_is_at(&ours, folder, name))
		(void)unlinkat(folder, name, 0);
	p->bound = false;
	lock = lock_name_of(name);
	if (p->locked)
		file_unlock(p->lock_fd, folder, lock.text);
	p->locked = false;
	if (folder >= 0)
		file_close(folder);
}
