/* SPDX-License-Identifier: MIT
 *
 * version.c - `weir version`, -v and -vv: which program this is and how it was built.
 *
 * Main thread.
 */
#include <errno.h>
#include <ev.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "weir/base/password.h"
#include "weir/cli/cli.h"
#include "weir/host/driver_choice.h"
#include "weir/host/limits.h"
#include "weir/names/resolver.h"
#include "weir/net/tls_trust.h"

#ifdef __clang__
#define COMPILER "clang"
#else
#define COMPILER "gcc"
#endif

/* Does the system call exist for this process? A wrong argument shows that without doing anything. */
static const char *has(long result)
{
	return result < 0 && (errno == ENOSYS || errno == EPERM) ? "no" : "yes";
}

static void print_kernel(void)
{
	struct utsname name;

	if (uname(&name) != 0)
		return;
	printf("kernel:    %s %s, epoll_pwait2 %s", name.sysname, name.release,
	       has(syscall(SYS_epoll_pwait2, -1, NULL, 0, NULL, NULL, 0)));
	printf(", pidfd %s\n", has(syscall(SYS_pidfd_open, -1, 0)));
}

/* The drivers compiled in, the one that `driver = auto` uses, and whether this user may create the ring of
 * one worker here. How many workers there will be depends on a configuration. */
static void print_drivers(void)
{
	char why[URING_WHY_MAX];

	printf("drivers:   epoll%s; driver = auto is ", uring_is_built() ? ", io_uring" : "");
	puts(driver_wants_ring(CONFIG_DRIVER_AUTO, DRIVER_OF_AUTO) ? "io_uring where usable" : "epoll");
	limits_raise_locked(); /* as startup does */
	if (uring_rehearse(1, why, sizeof(why)) == 0)
		puts("io_uring:  usable");
	else
		printf("io_uring:  not usable: %s\n", why);
}

enum exit_code cli_version(const struct cli_args *a)
{
	printf("weir %s\n", WEIR_VERSION);
	if (a->version < 2)
		return EXIT_FINE;
	printf("build:     %s\n", WEIR_BUILD_TYPE);
	printf("compiler:  %s %s\n", COMPILER, __VERSION__);
	print_drivers();
	printf("features:  splice, unix sockets, admin socket, forward\n");
	printf("libraries: glibc %s, libev %d.%d, inih %s", gnu_get_libc_version(), ev_version_major(),
	       ev_version_minor(), WEIR_INIH_VERSION);
	printf("%s%s%s%s", uring_is_built() ? ", liburing " : "", WEIR_LIBURING_VERSION,
	       resolver_has_dns() ? ", c-ares " : "", resolver_dns_version());
	printf("%s%s%s\n", tls_is_built() ? ", OpenSSL " : "", tls_version(),
	       password_is_built() ? ", libcrypt" : "");
	print_kernel();
	printf("file:      %s\n", CLI_DEFAULT_FILE);
	return EXIT_FINE;
}
