/* SPDX-License-Identifier: MIT
 *
 * contract.h - what the op-contract suite needs of a kernel: connected pairs and their far ends.
 *
 * Two kernels implement it: the real one (contract_real.c) and the simulator's model. Bytes of a far
 * end are CONTRACT_BYTE(offset) in both directions. Tests only.
 */
#ifndef TESTS_CONTRACT_H
#define TESTS_CONTRACT_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/io/io.h"

struct contract_kernel {
	const char *name;
	/* The driver under test. */
	const struct io_driver *driver;
	/* A new world; the last one's descriptors are gone afterwards. */
	void (*begin)(void);
	void (*end)(void);
	/* A connection: returns our descriptor, sets the far end's handle. */
	int (*pair)(bool tcp, int *far);
	/* A listener for us: its descriptor and its address. far_connect() connects to it. */
	int (*listener)(struct addr *a);
	int (*far_connect)(const struct addr *a);
	/* An address that refuses; an address that a far listener answers (far_accept() takes it). */
	void (*refusing)(struct addr *a);
	void (*answering)(struct addr *a);
	int (*far_accept)(void);
	/* A connecting descriptor for us. */
	int (*socket)(const struct addr *to);
	/* What the far end does. Counts in bytes. */
	void (*far_send)(int far, uint32_t n);
	void (*far_urgent)(int far);
	void (*far_fin)(int far);
	void (*far_reset)(int far);
	/* Reads up to n bytes and checks them; returns how many, 0 at FIN, -errno (-EAGAIN: none now). */
	int (*far_read)(int far, uint32_t n);
	void (*far_close)(int far);
	/* Fills the bytes that we are going to send from `offset` on. */
	void (*fill)(int far, uint8_t *data, uint32_t offset, uint32_t n);
	/* Are these the bytes that the far end sent from `offset` on? */
	bool (*same)(int far, const uint8_t *data, uint32_t offset, uint32_t n);
	/* Lets the kernel deliver what is under way. */
	void (*settle)(void);
	/* Has this end of a TCP connection sent what is not acknowledged yet, so that there will be more room
	 * without anybody's doing? Acknowledgements may take 200 ms. */
	bool (*is_under_way)(int fd);
};

/* The kernel of this program. */
extern const struct contract_kernel contract_kernel;

#endif
