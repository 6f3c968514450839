# SPDX-License-Identifier: MIT
"""Every word that HAProxy registers for the file of a TCP proxy has a row in the table of its directives."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

CONFIG = Path(__file__).resolve().parents[2] / "src/config"
TEXT = r'"((?:[^"\\]|\\.)*)"'
ROWS = re.findall(rf"^FOREIGN(?:_KNOWN)?\((\w+), (\w+), \w+,\s+{TEXT}",
                  "".join(path.read_text() for path in CONFIG.glob("foreign_*.tbl.h")), re.M)
# Words that only begin one of ours, and rules of HTTP, which are rows as a whole.
PARTS = {"stats", "rate-limit", "timeout"}
HTTP = ("http-request", "http-response", "http-after-response", "http-check")


def folded(text):
    return text.lower().replace("-", " ").replace("_", " ")


def has_row(word, areas=None):
    for whose, area, row in ROWS:
        if whose != "HAPROXY" or (areas and area not in areas):
            continue
        row, plain = folded(row), folded(word)
        if plain.startswith(row[:-1]) if row.endswith("*") else plain == row.rstrip("*"):
            return True
    return False


def keywords():
    """(section, word) as `haproxy -dKall` lists them."""
    said = subprocess.run(["haproxy", "-dKall", "-q", "-c", "-f", "/dev/null"], capture_output=True,
                          text=True, timeout=60, check=False).stdout
    text = said.partition("# List of registered configuration keywords:\n")[2].partition("\n# ")[0]
    section = None
    for line in text.splitlines():
        if not line.startswith("\t"):
            section = line.strip()
        else:
            yield section, re.split(r" [<\[{]|\s*\[(?:ALL|TCP|HTTP)", line.strip())[0].strip().rstrip("*")


def row_of(section, word):
    words = word.split()
    if section == "global":
        return has_row(word, {"GLOBAL"})
    if words[0] in ("bind", "server") and len(words) > 1:
        return has_row(words[-1], {"BIND_WORD", "SERVER_WORD"})
    return words[0] in HTTP or has_row(word)


@pytest.mark.skipif(not shutil.which("haproxy"), reason="HAProxy is not installed")
def test_every_keyword_of_haproxy_has_a_row():
    found = list(keywords())
    if not found:
        pytest.skip("this HAProxy cannot list its keywords")
    assert len(found) > 300
    assert [(section, word) for section, word in found
            if section in ("global", "listen", "frontend", "backend", "defaults")
            and word not in PARTS and not row_of(section, word)] == []


NGINX = """
daemon debug_points env error_log include load_module lock_file master_process pcre_jit pid ssl_engine
thread_pool timer_resolution user worker_cpu_affinity worker_priority worker_processes worker_rlimit_core
worker_rlimit_nofile worker_shutdown_timeout working_directory events accept_mutex accept_mutex_delay
debug_connection multi_accept use worker_aio_requests worker_connections listen preread_buffer_size
preread_timeout proxy_protocol_timeout resolver resolver_timeout server server_name stream tcp_nodelay
variables_hash_bucket_size variables_hash_max_size proxy_bind proxy_buffer_size proxy_connect_timeout
proxy_download_rate proxy_half_close proxy_next_upstream proxy_next_upstream_timeout
proxy_next_upstream_tries proxy_pass proxy_protocol proxy_requests proxy_responses proxy_session_drop
proxy_socket_keepalive proxy_ssl proxy_ssl_certificate proxy_ssl_verify proxy_timeout proxy_upload_rate
upstream zone state hash least_conn least_time random allow deny geo geoip_country geoip_city map
map_hash_bucket_size map_hash_max_size limit_conn limit_conn_dry_run limit_conn_log_level limit_conn_zone
access_log log_format open_log_file_cache set_real_ip_from ssl_preread split_clients return set pass
js_access js_filter js_import js_preread js_set js_var health_check match keyval zone_sync ssl_certificate
""".split()


def test_every_directive_of_nginx_has_a_row():
    rows = [folded(word) for whose, _, word in ROWS if whose == "NGINX"]
    assert [word for word in NGINX
            if not any(folded(word).startswith(row[:-1]) if row.endswith("*") else folded(word) == row
                       for row in rows)] == []
