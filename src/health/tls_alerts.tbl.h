/* SPDX-License-Identifier: MIT
 *
 * tls_alerts.tbl.h - one row per TLS alert that a server may answer with: TLS_ALERT(number, words).
 *
 * The names of RFC 8446 and RFC 5246, as words.
 */
TLS_ALERT(0, "close notify")
TLS_ALERT(10, "unexpected message")
TLS_ALERT(20, "bad record MAC")
TLS_ALERT(22, "record overflow")
TLS_ALERT(40, "handshake failure")
TLS_ALERT(42, "bad certificate")
TLS_ALERT(43, "unsupported certificate")
TLS_ALERT(44, "certificate revoked")
TLS_ALERT(45, "certificate expired")
TLS_ALERT(46, "certificate unknown")
TLS_ALERT(47, "illegal parameter")
TLS_ALERT(48, "unknown CA")
TLS_ALERT(49, "access denied")
TLS_ALERT(50, "decode error")
TLS_ALERT(51, "decrypt error")
TLS_ALERT(70, "protocol version")
TLS_ALERT(71, "insufficient security")
TLS_ALERT(80, "internal error")
TLS_ALERT(86, "inappropriate fallback")
TLS_ALERT(90, "user canceled")
TLS_ALERT(109, "missing extension")
TLS_ALERT(110, "unsupported extension")
TLS_ALERT(112, "unrecognized name")
TLS_ALERT(116, "certificate required")
TLS_ALERT(120, "no application protocol")
