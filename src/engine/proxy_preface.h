/* SPDX-License-Identifier: MIT
 *
 * proxy_preface.h - the client's PROXY header, before anything else. A worker's thread.
 */
#ifndef WEIR_ENGINE_PROXY_PREFACE_H
#define WEIR_ENGINE_PROXY_PREFACE_H

#include <stdbool.h>

struct session;

/* A session has just begun; its peer was not turned away (admission.h). True when its client must send a
 * PROXY header first: admission_enter() is called when the header is complete, and the session is closed when
 * none arrives. */
bool proxy_preface_start(struct session *s);

#endif
