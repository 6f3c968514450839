/* SPDX-License-Identifier: MIT
 *
 * crc32c.c - CRC-32C, four bits at a time: the table fits into one cache line.
 *
 * Any thread.
 */
#include "crc32c.h"

/* For the reflected polynomial 0x82f63b78, one entry per value of the lowest four bits. */
static const uint32_t nibbles[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c_add(uint32_t sum, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		sum ^= data[i];
		sum = sum >> 4 ^ nibbles[sum & 15];
		sum = sum >> 4 ^ nibbles[sum & 15];
	}
	return sum;
}
