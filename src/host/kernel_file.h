/* SPDX-License-Identifier: MIT
 *
 * kernel_file.h - reading the small files in /proc and /sys.
 *
 * Any thread.
 */
#ifndef WEIR_HOST_KERNEL_FILE_H
#define WEIR_HOST_KERNEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the file into `buf`, NUL-terminated and truncated if too long. Returns its length, or -errno. */
int kernel_file_read(const char *path, char *buf, size_t room);
/* The first line without its newline; "" if the file cannot be read. Returns `buf`. */
const char *kernel_file_line(const char *path, char *buf, size_t room);
/* Parses the decimal number at the start of `text`; false if there is none ("max"). */
bool kernel_file_to_number(const char *text, uint64_t *n);
/* Parses the number at the start of the file; false also if it cannot be read. */
bool kernel_file_number(const char *path, uint64_t *n);

/* The effective capabilities from the text of /proc/PID/status, one bit each (capabilities(7)); 0 = none. */
uint64_t kernel_file_capabilities(const char *status);
/* Does this thread have capability `bit`? False if /proc cannot be read. */
bool kernel_file_has_capability(unsigned bit);

#endif
