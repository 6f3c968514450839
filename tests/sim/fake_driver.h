/* SPDX-License-Identifier: MIT
 *
 * fake_driver.h - a second driver over the modelled kernel, which behaves like a ring.
 *
 * See fake_driver.c. One thread. Tests only.
 */
#ifndef SIM_FAKE_DRIVER_H
#define SIM_FAKE_DRIVER_H

#include "weir/io/io.h"

extern const struct io_driver fake_driver;

#endif
