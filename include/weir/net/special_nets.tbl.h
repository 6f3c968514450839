/* SPDX-License-Identifier: MIT
 *
 * special_nets.tbl.h - networks that are not for everyone on the Internet, one row each:
 * SPECIAL_NET4(a, b, c, d, bits, may_be_allowed, what) and SPECIAL_NET6(a, b, c, h, bits, may_be_allowed,
 * what), of which a, b, c are the first three groups of 16 bits, h is the last one, and those between are 0.
 *
 * From the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and what followed it), the
 * multicast ranges (RFC 5771, RFC 4291), and what was given up but may still be routed. The registries have a
 * few addresses within 192.0.0.0/24 and 2001::/23 that are reachable from everywhere; the whole network is
 * refused. Of IPv6, everything outside 2000::/3 is refused too; a row is needed for what `allow-to` may add.
 * The first row that contains an address counts.
 *   may_be_allowed  `allow-to` can add it; otherwise it is never the address of a server
 *   what            for people: "127.0.0.1 is WHAT"
 */
SPECIAL_NET4(0, 0, 0, 0, 8, 0, "of this host (0.0.0.0/8)")                     /* RFC 791 */
SPECIAL_NET4(10, 0, 0, 0, 8, 1, "private (10.0.0.0/8)")                        /* RFC 1918 */
SPECIAL_NET4(100, 64, 0, 0, 10, 1, "of a carrier's NAT (100.64.0.0/10)")       /* RFC 6598 */
SPECIAL_NET4(127, 0, 0, 0, 8, 1, "loopback (127.0.0.0/8)")                     /* RFC 1122 */
SPECIAL_NET4(169, 254, 0, 0, 16, 1, "link-local (169.254.0.0/16)")             /* RFC 3927 */
SPECIAL_NET4(172, 16, 0, 0, 12, 1, "private (172.16.0.0/12)")                  /* RFC 1918 */
SPECIAL_NET4(192, 0, 0, 0, 24, 1, "for protocols (192.0.0.0/24)")              /* RFC 6890 */
SPECIAL_NET4(192, 0, 2, 0, 24, 1, "for documentation (192.0.2.0/24)")          /* RFC 5737 */
SPECIAL_NET4(192, 88, 99, 0, 24, 1, "of 6to4 relays (192.88.99.0/24)")         /* RFC 7526 */
SPECIAL_NET4(192, 168, 0, 0, 16, 1, "private (192.168.0.0/16)")                /* RFC 1918 */
SPECIAL_NET4(198, 18, 0, 0, 15, 1, "for benchmarks (198.18.0.0/15)")           /* RFC 2544 */
SPECIAL_NET4(198, 51, 100, 0, 24, 1, "for documentation (198.51.100.0/24)")    /* RFC 5737 */
SPECIAL_NET4(203, 0, 113, 0, 24, 1, "for documentation (203.0.113.0/24)")      /* RFC 5737 */
SPECIAL_NET4(224, 0, 0, 0, 4, 0, "multicast (224.0.0.0/4)")                    /* RFC 5771 */
SPECIAL_NET4(255, 255, 255, 255, 32, 0, "broadcast (255.255.255.255)")         /* RFC 919 */
SPECIAL_NET4(240, 0, 0, 0, 4, 1, "reserved (240.0.0.0/4)")                     /* RFC 1112 */

SPECIAL_NET6(0, 0, 0, 0, 128, 0, "unspecified (::)")                    /* RFC 4291 */
SPECIAL_NET6(0, 0, 0, 1, 128, 1, "loopback (::1)")                      /* RFC 4291 */
SPECIAL_NET6(0, 0, 0, 0, 80, 0, "IPv4 in IPv6 (::/80)")                 /* RFC 4291 */
SPECIAL_NET6(0x64, 0xff9b, 0, 0, 96, 1, "NAT64 (64:ff9b::/96)")         /* RFC 6052 */
SPECIAL_NET6(0x64, 0xff9b, 1, 0, 48, 0, "local NAT64 (64:ff9b:1::/48)") /* RFC 8215 */
SPECIAL_NET6(0x100, 0, 0, 0, 64, 1, "discard-only (100::/64)")          /* RFC 6666 */
SPECIAL_NET6(0x2001, 0, 0, 0, 32, 0, "Teredo (2001::/32)")              /* RFC 4380 */
SPECIAL_NET6(0x2001, 0, 0, 0, 23, 1, "for protocols (2001::/23)")       /* RFC 2928 */
SPECIAL_NET6(0x2001, 0xdb8, 0, 0, 32, 1, "for documentation (2001:db8::/32)") /* RFC 3849 */
SPECIAL_NET6(0x2002, 0, 0, 0, 16, 0, "6to4 (2002::/16)")                /* RFC 3056 */
SPECIAL_NET6(0x3fff, 0, 0, 0, 20, 1, "for documentation (3fff::/20)")   /* RFC 9637 */
SPECIAL_NET6(0x5f00, 0, 0, 0, 16, 1, "of segment routing (5f00::/16)")  /* RFC 9602 */
SPECIAL_NET6(0xfc00, 0, 0, 0, 7, 1, "private (fc00::/7)")               /* RFC 4193 */
SPECIAL_NET6(0xfe80, 0, 0, 0, 10, 0, "link-local (fe80::/10)")          /* RFC 4291 */
SPECIAL_NET6(0xfec0, 0, 0, 0, 10, 1, "site-local (fec0::/10)")          /* RFC 3879 */
SPECIAL_NET6(0xff00, 0, 0, 0, 8, 0, "multicast (ff00::/8)")             /* RFC 4291 */
