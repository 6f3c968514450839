/* SPDX-License-Identifier: MIT
 *
 * diag_codes.tbl.h - the kinds of messages: DIAG_CODE(name, word). The words appear in --format=json;
 * programs match on them, so a released word never changes.
 */
DIAG_CODE(NO_MEMORY, "no-memory")
DIAG_CODE(CANNOT_READ, "cannot-read")		/* a file */
DIAG_CODE(BAD_INCLUDE, "bad-include")		/* too deep, included twice, not allowed here */
DIAG_CODE(BAD_BYTE, "bad-byte")
DIAG_CODE(TOO_LONG, "too-long")			/* a line, a key, a name, a text */
DIAG_CODE(SYNTAX, "syntax")			/* quotes, brackets, delimiters */
DIAG_CODE(NO_EQUALS, "no-equals")		/* a line without '=' */
DIAG_CODE(UNKNOWN_SECTION, "unknown-section")
DIAG_CODE(NO_SECTION, "no-section")		/* a line outside any section */
DIAG_CODE(BAD_NAME, "bad-name")			/* missing, or with invalid characters */
DIAG_CODE(UNKNOWN_KEY, "unknown-key")
DIAG_CODE(WRONG_SECTION, "wrong-section")
DIAG_CODE(UNKNOWN_WORD, "unknown-word")		/* in the words of a line */
DIAG_CODE(NOT_YET, "not-in-this-version")
DIAG_CODE(DUPLICATE, "duplicate")
DIAG_CODE(NO_VALUE, "no-value")
DIAG_CODE(BAD_VALUE, "bad-value")
DIAG_CODE(NO_UNIT, "no-unit")
DIAG_CODE(OUT_OF_RANGE, "out-of-range")
DIAG_CODE(BAD_ADDRESS, "bad-address")
DIAG_CODE(BAD_VARIABLE, "bad-variable")
DIAG_CODE(UNDEFINED_BACKEND, "undefined-backend")
DIAG_CODE(MISSING, "missing")			/* a section lacks a line */
DIAG_CODE(CONFLICT, "conflict")			/* two settings that exclude each other */
DIAG_CODE(ADDRESS_IN_USE, "address-in-use")
DIAG_CODE(NO_EFFECT, "no-effect")
DIAG_CODE(EXPOSED, "exposed")			/* others can read what they should not */
