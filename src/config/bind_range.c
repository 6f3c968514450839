/* SPDX-License-Identifier: MIT
 *
 * bind_range.c - a range of ports in a `bind` line: one bind of the snapshot per port, one line for people.
 *
 * Any thread.
 */
#include "weir/config/bind_range.h"

#include "weir/base/json.h"

#define MIB (UINT64_C(1) << 20)

bool bind_shares_line(const struct config_bind *a, const struct config_bind *b)
{
	struct addr x = a->addr.addr, y = b->addr.addr;

	if (!bind_is_in_range(a) || a->first_port != b->first_port || a->last_port != b->last_port ||
	    a->addr.kind != b->addr.kind)
		return false;
	addr_set_port(&x, 0);
	addr_set_port(&y, 0);
	return addr_equal(&x, &y);
}

static const char *address_of(const struct config_bind *b, uint16_t first, uint16_t last, char *buf)
{
	struct addr_spec spec = b->addr;

	spec.port = first;
	spec.last_port = last > first ? last : 0;
	addr_set_port(&spec.addr, first);
	return addr_spec_format(&spec, buf);
}

const char *bind_line_address(const struct config_bind *b, char *buf)
{
	if (!bind_is_in_range(b))
		return addr_spec_format(&b->addr, buf);
	return address_of(b, b->first_port, b->last_port, buf);
}

const char *bind_ports_address(const struct config_bind *b, uint16_t last, char *buf)
{
	if (!bind_is_in_range(b))
		return addr_spec_format(&b->addr, buf);
	return address_of(b, b->addr.port, last, buf);
}

static uint64_t own_memory(const struct config_bind *b, unsigned workers)
{
	return bind_line_ports(b) * (BIND_RANGE_PORT_BYTES + workers * BIND_RANGE_PORT_WORKER_BYTES);
}

uint64_t bind_line_memory(const struct config_bind *b, unsigned workers)
{
	return own_memory(b, workers) +
	       bind_line_ports(b) * (BIND_RANGE_KERNEL_BYTES + workers * BIND_RANGE_KERNEL_WORKER_BYTES);
}

/* Is it the first port of a range? */
static bool begins_range(const struct config_bind *b)
{
	return bind_is_in_range(b) && b->addr.port == b->first_port;
}

const struct config_bind *bind_longest_range(const struct config *c)
{
	const struct config_bind *longest = NULL;

	for (size_t i = 0; i < c->frontend_count; i++)
		for (size_t k = 0; k < c->frontends[i].bind_count; k++) {
			const struct config_bind *b = &c->frontends[i].binds[k];

			if (begins_range(b) &&
			    (longest == NULL || bind_line_ports(b) > bind_line_ports(longest)))
				longest = b;
		}
	return longest;
}

/* Rounded up, so that nothing needs none. */
static unsigned long long in_mib(uint64_t bytes)
{
	return (unsigned long long)((bytes + MIB - 1) / MIB);
}

void bind_print_ranges(const struct config *c, unsigned workers, const char *prefix, FILE *out)
{
	char address[ADDR_TEXT_MAX];

	for (size_t i = 0; i < c->frontend_count; i++)
		for (size_t k = 0; k < c->frontends[i].bind_count; k++) {
			const struct config_bind *b = &c->frontends[i].binds[k];
			const uint64_t all = bind_line_memory(b, workers), own = own_memory(b, workers);

			if (!begins_range(b))
				continue;
			fprintf(out,
				"%s%s (%s:%u) takes %u descriptors and about %llu MiB of memory: %llu of "
				"weir, %llu of the kernel\n",
				prefix, bind_line_address(b, address), b->place.file, b->place.line,
				bind_line_ports(b), in_mib(own) + in_mib(all - own), in_mib(own),
				in_mib(all - own));
		}
}

static void add_range(const struct config_frontend *f, const struct config_bind *b, unsigned workers,
		      struct json *j)
{
	const uint64_t all = bind_line_memory(b, workers), own = own_memory(b, workers);
	char address[ADDR_TEXT_MAX];

	json_object(j, NULL);
	json_string(j, "frontend", f->name);
	json_string(j, "address", bind_line_address(b, address));
	json_string(j, "file", b->place.file);
	json_unsigned(j, "line", b->place.line);
	json_unsigned(j, "descriptors", bind_line_ports(b));
	json_unsigned(j, "memory_bytes", all);
	json_unsigned(j, "kernel_memory_bytes", all - own);
	json_object_end(j);
}

void bind_json_ranges(const struct config *c, unsigned workers, struct json *j)
{
	json_array(j, "ranges");
	for (size_t i = 0; i < c->frontend_count; i++)
		for (size_t k = 0; k < c->frontends[i].bind_count; k++)
			if (begins_range(&c->frontends[i].binds[k]))
				add_range(&c->frontends[i], &c->frontends[i].binds[k], workers, j);
	json_array_end(j);
}
