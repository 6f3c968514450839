/* SPDX-License-Identifier: MIT
 *
 * voice.h - the word with which a client of the admin socket asks for our texts.
 *
 * A plain request gets HAProxy's texts, for its tools. Our own verbs want better errors, so their lines begin
 * with this word. Constants only.
 */
#ifndef WEIR_ADMIN_VOICE_H
#define WEIR_ADMIN_VOICE_H

#define VOICE_OURS "@weir"

#endif
