/* SPDX-License-Identifier: MIT
 *
 * traffic.c - clients of the test, on threads of their own: each byte that comes back is checked.
 *
 * Owns the threads, their sockets, and the list of places.
 */
#include "traffic.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "demo/keyed.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"

#define WINDOW	     (256u << 10)
#define PIECE	     (64u << 10)
#define THREADS_MAX  8u
#define EVENTS_MAX   64
#define TICK_MS	     2
#define LONG_PAUSE_MS 40u
/* A session without progress for this long has lost something. */
#define STUCK_NS (60 * NS_PER_SEC)

struct place {
	struct addr addr;
	bool open;
	unsigned left; /* times that it was given up */
};

struct client {
	int fd; /* owns; -1 = none */
	bool lasts; /* until it is asked to end */
	bool ending; /* it has been */
	bool vanishes; /* closes as soon as it is connected */
	bool connected;
	bool shut;
	unsigned place, left;
	uint64_t key, goal, sent, got;
	int64_t next_ns; /* when the goal grows, or it connects */
	int64_t moved_ns;
};

struct crowd {
	pthread_t thread;
	int epfd; /* owns */
	unsigned number;
	unsigned count;
	struct client *clients; /* owns */
	uint64_t random;
	uint64_t next_key;
	unsigned alive;
	char *bytes; /* owns */
};

static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;
static struct place places[TRAFFIC_PLACES];
static struct crowd crowds[THREADS_MAX];
static struct traffic_wish wished;
static atomic_bool stopping, failed;
static atomic_uint_fast64_t connected, sessions, turned_away, bytes_back;
static atomic_uint lasting, running;
static atomic_uint wanted; /* long ones of each thread */
static atomic_uint to_end; /* long ones that are to end, and have not been found */

/* ---- places ---- */

void traffic_open_place(unsigned place, const struct addr *addr)
{
	pthread_mutex_lock(&places_lock);
	places[place].addr = *addr;
	places[place].open = true;
	pthread_mutex_unlock(&places_lock);
}

void traffic_leave_place(unsigned place)
{
	pthread_mutex_lock(&places_lock);
	places[place].open = false;
	places[place].left++;
	pthread_mutex_unlock(&places_lock);
}

void traffic_stay_place(unsigned place)
{
	pthread_mutex_lock(&places_lock);
	places[place].open = true;
	places[place].left--;
	pthread_mutex_unlock(&places_lock);
}

static bool choose_place(uint64_t random, struct client *c, struct addr *addr)
{
	bool found = false;

	pthread_mutex_lock(&places_lock);
	for (unsigned i = 0; i < TRAFFIC_PLACES && !found; i++) {
		c->place = (unsigned)((random + i) % TRAFFIC_PLACES);
		found = places[c->place].open;
	}
	*addr = places[c->place].addr;
	c->left = places[c->place].left;
	pthread_mutex_unlock(&places_lock);
	return found;
}

static bool place_is_left(const struct client *c)
{
	bool left;

	pthread_mutex_lock(&places_lock);
	left = places[c->place].left != c->left;
	pthread_mutex_unlock(&places_lock);
	return left;
}

/* ---- one client ---- */

static uint64_t draw(struct crowd *crowd)
{
	uint64_t x = crowd->random += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static void forget(struct crowd *crowd, struct client *c)
{
	close(c->fd);
	c->fd = -1;
	crowd->alive--;
	if (c->lasts && c->got > 0)
		atomic_fetch_sub(&lasting, 1);
}

static void lose(struct crowd *crowd, struct client *c, const char *why)
{
	if (c->got == 0 && place_is_left(c)) {
		atomic_fetch_add(&turned_away, 1);
	} else {
		fprintf(stderr, "client %u.%llu at place %u%s%s: %s; sent %llu, got %llu of %llu\n",
			crowd->number, (unsigned long long)c->key, c->place,
			c->lasts ? ", a long one" : "", c->connected ? "" : ", not connected", why,
			(unsigned long long)c->sent, (unsigned long long)c->got,
			(unsigned long long)c->goal);
		atomic_store(&failed, true);
	}
	forget(crowd, c);
}

static void plan(struct crowd *crowd, struct client *c)
{
	const uint64_t r = draw(crowd);

	c->key = ((uint64_t)crowd->number << 40) + crowd->next_key++;
	c->connected = c->shut = c->vanishes = c->ending = false;
	c->sent = c->got = 0;
	if (c->lasts)
		c->goal = 1 + r % 4096;
	else if (r % 16 == 0)
		c->goal = 1 + (r >> 8) % (2u << 20);
	else if (r % 16 < 12)
		c->goal = 1 + (r >> 8) % 20000;
	else
		c->goal = 1; /* whoever ends before a first byte has gone */
	c->vanishes = !c->lasts && r % 16 == 15;
}

static void begin(struct crowd *crowd, struct client *c, int64_t now_ns)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
	struct addr to;

	c->next_ns = now_ns + NS_PER_MS;
	if (!choose_place(c->lasts && crowd->number == 0 ? 0 : draw(crowd), c, &to))
		return;
	plan(crowd, c);
	c->fd = socket(to.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	check(c->fd >= 0);
	c->moved_ns = now_ns;
	crowd->alive++;
	if (connect(c->fd, &to.sa, to.len) != 0 && errno != EINPROGRESS) {
		if (errno == EAGAIN) { /* the backlog of a Unix socket is full */
			forget(crowd, c);
			c->next_ns = now_ns + 10 * NS_PER_MS;
		} else {
			lose(crowd, c, strerror(errno));
		}
		return;
	}
	check(epoll_ctl(crowd->epfd, EPOLL_CTL_ADD, c->fd, &ev) == 0);
}

static bool goes_on(const struct client *c)
{
	return c->lasts && !c->ending && !atomic_load(&stopping);
}

/* True when something moved. */
static bool send_some(struct crowd *crowd, struct client *c)
{
	uint64_t len = c->goal - c->sent;
	ssize_t n;

	if (len == 0) {
		if (c->shut || goes_on(c))
			return false;
		c->shut = true;
		if (shutdown(c->fd, SHUT_WR) != 0)
			lose(crowd, c, strerror(errno));
		return false;
	}
	if (c->sent - c->got >= WINDOW)
		return false;
	n = send(c->fd, keyed_at(c->key, c->sent), len < PIECE ? len : PIECE, MSG_NOSIGNAL);
	if (n < 0) {
		if (errno != EAGAIN)
			lose(crowd, c, strerror(errno));
		return false;
	}
	c->sent += (uint64_t)n;
	return true;
}

static void finish(struct crowd *crowd, struct client *c)
{
	if (!c->shut || c->got != c->sent) {
		lose(crowd, c, "an early end");
		return;
	}
	atomic_fetch_add(&sessions, 1);
	forget(crowd, c);
}

static bool receive_some(struct crowd *crowd, struct client *c)
{
	const ssize_t n = recv(c->fd, crowd->bytes, PIECE, 0);

	if (n < 0) {
		if (errno != EAGAIN)
			lose(crowd, c, strerror(errno));
		return false;
	}
	if (n == 0) {
		finish(crowd, c);
		return false;
	}
	if (c->got + (uint64_t)n > c->sent || !keyed_same(c->key, c->got, crowd->bytes, (size_t)n)) {
		fprintf(stderr, "wrong bytes: ");
		c->got += 1; /* nobody who was turned away */
		lose(crowd, c, "these are not the bytes it sent");
		return false;
	}
	if (c->lasts && c->got == 0)
		atomic_fetch_add(&lasting, 1);
	c->got += (uint64_t)n;
	atomic_fetch_add(&bytes_back, (uint64_t)n);
	return true;
}

static bool is_connected(struct crowd *crowd, struct client *c, uint32_t events)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (c->connected)
		return true;
	check(getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0);
	if (err)
		lose(crowd, c, strerror(err));
	if (err || !(events & EPOLLOUT))
		return false;
	c->connected = true;
	atomic_fetch_add(&connected, 1);
	if (!c->vanishes)
		return true;
	forget(crowd, c);
	return false;
}

static void drive(struct crowd *crowd, struct client *c, int64_t now_ns)
{
	bool moved = true;

	c->moved_ns = now_ns;
	while (c->fd >= 0 && moved) {
		moved = send_some(crowd, c);
		if (c->fd >= 0)
			moved |= receive_some(crowd, c);
	}
}

/* ---- a thread ---- */

static bool may_begin(const struct crowd *crowd, const struct client *c, int64_t now_ns)
{
	return now_ns >= c->next_ns && !atomic_load(&stopping) &&
	       (!c->lasts || (unsigned)(c - crowd->clients) < atomic_load(&wanted));
}

/* Is it one of those that are to end? */
static bool is_to_end(struct crowd *crowd)
{
	unsigned n = atomic_load(&to_end);

	return n > 0 && draw(crowd) % 16 == 0 && atomic_compare_exchange_strong(&to_end, &n, n - 1);
}

/* A long one sends more from time to time. */
static void drive_long(struct crowd *crowd, struct client *c, int64_t now_ns)
{
	if (!c->connected || (c->got < c->goal && !atomic_load(&stopping)))
		return;
	if (goes_on(c) && is_to_end(crowd))
		c->ending = true;
	if (!goes_on(c)) {
		if (!c->shut)
			drive(crowd, c, now_ns);
	} else if (now_ns >= c->next_ns) {
		c->goal += 1 + draw(crowd) % 8192;
		c->next_ns = now_ns + (int64_t)(draw(crowd) % LONG_PAUSE_MS) * NS_PER_MS;
		drive(crowd, c, now_ns);
	} else if (c->got == c->goal) {
		c->moved_ns = now_ns;
	}
}

static void tick(struct crowd *crowd, int64_t now_ns)
{
	for (unsigned i = 0; i < crowd->count; i++) {
		struct client *c = &crowd->clients[i];

		if (c->fd < 0 && may_begin(crowd, c, now_ns))
			begin(crowd, c, now_ns);
		if (c->fd < 0)
			continue;
		if (now_ns - c->moved_ns > STUCK_NS) {
			c->got++;
			lose(crowd, c, "nothing moves");
		} else if (c->lasts) {
			drive_long(crowd, c, now_ns);
		}
	}
}

static void *run(void *arg)
{
	struct epoll_event events[EVENTS_MAX];
	struct crowd *crowd = arg;

	do {
		const int n = epoll_wait(crowd->epfd, events, EVENTS_MAX, TICK_MS);
		const int64_t now_ns = clock_mono_ns();

		for (int i = 0; i < n; i++) {
			struct client *c = events[i].data.ptr;

			if (c->fd >= 0 && is_connected(crowd, c, events[i].events))
				drive(crowd, c, now_ns);
		}
		tick(crowd, now_ns);
	} while (crowd->alive > 0 || !atomic_load(&stopping));
	atomic_fetch_sub(&running, 1);
	return NULL;
}

void traffic_start(const struct traffic_wish *wish, unsigned long_at_first)
{
	check(wish->threads <= THREADS_MAX);
	keyed_init();
	wished = *wish;
	atomic_store(&stopping, false);
	atomic_store(&running, wish->threads);
	atomic_store(&wanted, long_at_first);
	atomic_store(&to_end, 0);
	for (unsigned i = 0; i < wish->threads; i++) {
		struct crowd *crowd = &crowds[i];

		*crowd = (struct crowd){.number = i, .random = i + 1};
		crowd->count = wish->short_sessions + wish->long_sessions;
		crowd->clients = calloc(crowd->count + 1, sizeof(struct client));
		crowd->bytes = malloc(PIECE);
		crowd->epfd = epoll_create1(EPOLL_CLOEXEC);
		check(crowd->clients != NULL && crowd->bytes != NULL && crowd->epfd >= 0);
		for (unsigned k = 0; k < crowd->count; k++) {
			crowd->clients[k].fd = -1;
			crowd->clients[k].lasts = k < wish->long_sessions;
		}
		check(pthread_create(&crowd->thread, NULL, run, crowd) == 0);
	}
}

void traffic_want_long(unsigned of_each_thread)
{
	check(of_each_thread <= wished.long_sessions);
	atomic_store(&wanted, of_each_thread);
}

void traffic_end_long(unsigned count)
{
	atomic_fetch_add(&to_end, count);
}

struct traffic_figures traffic_figures(void)
{
	return (struct traffic_figures){
		.connected = atomic_load(&connected),
		.sessions = atomic_load(&sessions),
		.turned_away = atomic_load(&turned_away),
		.bytes = atomic_load(&bytes_back),
		.lasting = atomic_load(&lasting),
		.failed = atomic_load(&failed),
	};
}

void traffic_stop(void)
{
	atomic_store(&stopping, true);
}

bool traffic_is_over(void)
{
	return atomic_load(&running) == 0;
}

void traffic_join(void)
{
	for (unsigned i = 0; i < wished.threads; i++) {
		check(pthread_join(crowds[i].thread, NULL) == 0);
		close(crowds[i].epfd);
		free(crowds[i].clients);
		free(crowds[i].bytes);
	}
	wished.threads = 0;
}
