/* SPDX-License-Identifier: MIT
 *
 * fuzz_ring.c - the io_uring driver over a ring whose completions are any bytes (ring_shim.h).
 *
 * A libFuzzer target; replay.c runs it over the corpus without one. A small engine (ring_engine.c) starts,
 * cancels, keeps, closes and uses again, as the bytes say, and holds the driver to the contract of io.h. The
 * input: what kind of kernel it is, how many buffers there are, and what happens. At the end everything is
 * cancelled, and nothing may be left: no op, buffer, pipe or descriptor.
 */
#include <stdlib.h>

#include "ring_engine.h"
#include "ring_shim.h"
#include "weir/base/check.h"
#include "weir/io/uring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Longer inputs find nothing that these do not. */
#define INPUT_MAX 4096
#define HEAD_BYTES 3
/* What a buffer of the ring takes of the pool's budget, and a little more. */
#define BUF_COST (40u * 1024u)

static struct io_loop loop;
static struct pipe_pool pipes;
static struct buf_pool bufs;

/* How many buffers there are for ring and engine together. */
static uint64_t budget(uint8_t b)
{
	static const uint8_t counts[] = {0, 1, 2, 3, 5, 8, 12, 40};

	return (uint64_t)counts[b % sizeof(counts)] * BUF_COST;
}

static void end(void)
{
	io_loop_release(&loop);
	check(loop.bufs.in_use == 0);
	check(loop.pipes.in_use == 0);
	pipe_cache_free(&loop.pipes);
	buf_cache_free(&loop.bufs);
	check(loop.timers.count <= 1); /* the driver's own look at resets, which finds nothing any more */
	io_loop_free(&loop);
	check(shim_open_count() == 0);
}

/* How many entries there is room for: a link of two, but often of one. */
static uint32_t room(uint8_t b)
{
	static const uint8_t rooms[] = {0, 2, 3, 5};

	return rooms[b % sizeof(rooms)];
}

/* data[0]: bit 0 an honest kernel, bits 1 and 2 what fails at the start, bit 3 how it ends, bits 4 and 5 the
 * room in the ring; data[1]: buffers; data[2]: pipes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < HEAD_BYTES || size > INPUT_MAX)
		return 0;
	shim_begin(data + HEAD_BYTES, size - HEAD_BYTES, data[0] & 1);
	shim_open_error = (data[0] & 6) == 6 ? -ENOMEM : 0;
	shim_room = room(data[0] >> 4);
	pipe_pool_init(&pipes, data[2] % 4, 65536, UINT64_MAX);
	buf_pool_init(&bufs, budget(data[1]));
	if (io_loop_init(&loop, &io_uring_driver) == 0) {
		pipe_cache_init(&loop.pipes, &pipes, 4);
		buf_cache_init(&loop.bufs, &bufs);
		engine_run(&loop, data[0] & 8);
		end();
	} else {
		check(shim_open_count() == 0);
	}
	pipe_pool_free(&pipes);
	buf_pool_free(&bufs);
	return 0;
}
