/* SPDX-License-Identifier: MIT
 *
 * test_ring_facts.c - the facts of tests/sim/facts_ring.h, asked of the kernel that we run on.
 *
 * Owns its ring and sockets for one test each; where no ring can be had, all are skipped and the reason is
 * printed. One thread. Tests only.
 */
#include "../../sim/facts_ring.h"

#include <dirent.h>
#include <netinet/ip.h>
#include <signal.h>
#include <stdio.h>

#include "facts_linux.h"

static void port_long_sleep(void)
{
	(void)alarm(20); /* the test would hang for ever */
}

static unsigned port_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *e;
	unsigned n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir)) != NULL)
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

/* ---- a segment that no socket sends ---- */

#define AHEAD_BYTES 1000u
#define URGENT_BYTES 10u

struct segment {
	struct iphdr ip;
	struct tcphdr tcp;
	uint8_t data[URGENT_BYTES];
} __attribute__((packed));

static uint32_t add_words(uint32_t sum, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	return sum;
}

static uint16_t tcp_checksum(const struct segment *s)
{
	const size_t len = sizeof(s->tcp) + sizeof(s->data);
	uint32_t sum = IPPROTO_TCP + (uint32_t)len;

	sum = add_words(sum, &s->ip.saddr, 2 * sizeof(s->ip.saddr));
	sum = add_words(sum, &s->tcp, len);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static int get_number(int fd, int queue, uint32_t *number)
{
	socklen_t len = sizeof(*number);

	return setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)) ||
	       getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, number, &len);
}

/* The numbers of the next bytes of a connection, each way. */
static int get_numbers(int fd, uint32_t *sends, uint32_t *reads)
{
	const int on = TCP_REPAIR_ON;
	const int off = TCP_REPAIR_OFF_NO_WP;
	int err;

	if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)))
		return -errno;
	err = get_number(fd, TCP_SEND_QUEUE, sends) || get_number(fd, TCP_RECV_QUEUE, reads);
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)), 0);
	return err ? -EINVAL : 0;
}

static int send_segment(int fd, uint32_t seq, uint32_t ack)
{
	const int raw = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	struct sockaddr_in from, to;
	struct segment s = {0};
	socklen_t len = sizeof(from);
	ssize_t n;

	if (raw < 0)
		return -errno;
	assert_int_equal(getsockname(fd, (struct sockaddr *)&from, &len), 0);
	assert_int_equal(getpeername(fd, (struct sockaddr *)&to, &len), 0);
	s.ip = (struct iphdr){.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP,
			      .tot_len = htons(sizeof(s)), .saddr = from.sin_addr.s_addr,
			      .daddr = to.sin_addr.s_addr};
	s.tcp = (struct tcphdr){.source = from.sin_port, .dest = to.sin_port, .seq = htonl(seq),
				.ack_seq = htonl(ack), .doff = 5, .ack = 1, .psh = 1, .urg = 1,
				.window = htons(512), .urg_ptr = htons(URGENT_BYTES / 2)};
	s.tcp.check = tcp_checksum(&s);
	n = sendto(raw, &s, sizeof(s), 0, (struct sockaddr *)&to, sizeof(to));
	close(raw);
	return n == sizeof(s) ? 0 : -EIO;
}

static bool port_urgent_ahead(int fd)
{
	uint32_t sends;
	uint32_t reads;
	int err = get_numbers(fd, &sends, &reads);

	if (!err)
		err = send_segment(fd, sends + AHEAD_BYTES, reads);
	if (err)
		printf("skipped: a segment behind a hole needs CAP_NET_ADMIN and CAP_NET_RAW: %s\n",
		       strerror(-err));
	port_settle();
	return err == 0;
}

/* ---- what Linux alone is asked ---- */

/* What ring_reserve() is for; the model fails where a driver does this. */
static void a_link_ends_with_its_submission(void **state)
{
	struct io_uring_sqe *sqe = entry(1);
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	io_uring_prep_poll_add(sqe, s[0], EPOLLIN);
	sqe->flags = IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = 1;
	nothing();
	sqe = entry(1);
	io_uring_prep_recv(sqe, s[0], NULL, 1000, MSG_DONTWAIT);
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = RING_BUF_GROUP;
	sqe->user_data = 1;
	expect(1, -EAGAIN); /* it did not wait for the poll */
	send_some(s[1], 10);
	nothing(); /* and the poll told nobody */
	hang_up(s);
}

static int setup(void **state)
{
	return ring_setup(state);
}

static int teardown(void **state)
{
	return ring_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {RING_FACTS_TESTS, RING_FACT(a_link_ends_with_its_submission)};
	const struct ring_shape shape = {.submissions = 8, .completions = 8, .bufs = 4};
	const int err = ring_open(&ring, &shape);

	(void)signal(SIGPIPE, SIG_IGN); /* R16 */
	if (err) {
		printf("skipped: no io_uring is to be had here: %s\n", strerror(-err));
		return 77;
	}
	ring_close(ring);
	return cmocka_run_group_tests_name("ring facts", tests, NULL, NULL);
}
