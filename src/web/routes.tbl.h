/* SPDX-License-Identifier: MIT
 *
 * routes.tbl.h - one row per path of the HTTP endpoint: ROUTE(NAME, path, needs, type, help).
 *
 * `needs` is SUMS if the answer is made of what all workers have counted, SESSIONS if it lists their
 * sessions, or NOTHING. `type` is that of the answer. A route can have several paths, each with a row.
 */
ROUTE(PAGE, "/", SUMS, "text/html; charset=utf-8", "frontends, backends and servers as a page")
ROUTE(METRICS, "/metrics", SUMS, "text/plain; version=0.0.4; charset=utf-8", "metrics for Prometheus")
ROUTE(CSV, "/stats;csv", SUMS, "text/plain; charset=utf-8", "HAProxy's statistics as CSV")
ROUTE(CSV, "/;csv", SUMS, "text/plain; charset=utf-8", "the same")
ROUTE(HEALTHZ, "/healthz", NOTHING, "text/plain; charset=utf-8", "is the process alive?")
ROUTE(READYZ, "/readyz", NOTHING, "text/plain; charset=utf-8", "does it serve new clients?")
ROUTE(INFO, "/api/v1/info", SUMS, "application/json", "the process as JSON")
ROUTE(FRONTENDS, "/api/v1/frontends", SUMS, "application/json", "frontends as JSON")
ROUTE(BACKENDS, "/api/v1/backends", SUMS, "application/json", "backends as JSON")
ROUTE(SERVERS, "/api/v1/servers", SUMS, "application/json", "servers as JSON")
ROUTE(SESSIONS, "/api/v1/sessions", SESSIONS, "application/json", "some of the sessions as JSON")
