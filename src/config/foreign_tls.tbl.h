/* SPDX-License-Identifier: MIT
 *
 * foreign_tls.tbl.h - the rows of foreign.tbl.h that are words about TLS within a line, and included there.
 *
 * weir passes TLS through; only its health checks speak it.
 */
FOREIGN_WORD("check-ssl", "write 'check = https GET /' in the section; 'check = tls' if it speaks no HTTP")
FOREIGN_WORD("check-sni", "write 'check = https GET / sni=...' in the section")
FOREIGN_WORD("check-alpn", "write 'check = tls alpn=...' in the section")
FOREIGN_WORD("alpn", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("npn", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("ca-file",
        "weir does not terminate TLS: it passes it through; for checks, 'check = https GET / verify=...'")
FOREIGN_WORD("ca-*", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("ciphers", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("ciphersuites", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("crl-file", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("crt", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("crt-*", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("curves", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("ecdhe", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("force-*", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("generate-certificates", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("no-ca-names", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("no-ssl*", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("no-tls*", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("prefer-client-ciphers", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("ssl-*", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("strict-sni", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("tls-*", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("verify",
        "weir does not terminate TLS: it passes it through; for checks, 'check = https GET / verify=...'")
FOREIGN_WORD("verifyhost", "weir does not terminate TLS: it passes it through")
FOREIGN_WORD("allow-0rtt", "weir does not terminate TLS: it passes it through")
