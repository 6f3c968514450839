/* SPDX-License-Identifier: MIT
 *
 * crc32c.h - CRC-32C (Castagnoli, RFC 3720 appendix B.4), as the PROXY protocol uses it.
 *
 * For headers, not for streams: small rather than fast. Any thread.
 */
#ifndef WEIR_NET_CRC32C_H
#define WEIR_NET_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The initial value for crc32c_add(). */
#define CRC32C_INIT UINT32_C(0xffffffff)

/* Adds bytes to a running sum. */
uint32_t crc32c_add(uint32_t sum, const uint8_t *data, size_t len);

/* The checksum, once the last byte has been added. */
static inline uint32_t crc32c_end(uint32_t sum)
{
	return ~sum;
}

#endif
