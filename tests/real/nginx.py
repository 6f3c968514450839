# SPDX-License-Identifier: MIT
"""An nginx that says which server it is: in clear or over TLS, with or without PROXY headers."""

from servers import ports, wait_for_port

CONFIG = """\
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off; default_type text/plain;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    server {{
        listen {address}{words};
        {certificate}
        location / {{ return 200 "{name} $proxy_protocol_addr $ssl_server_name\\n"; }}
        location = /health {{ root {folder}; }}
        location = /big {{ root {folder}; }}
    }}
}}
"""


class Nginx:
    """`words` are those behind the address of `listen`; `certificate` is the path of NAME.pem and NAME.key
    without the suffix."""

    def __init__(self, servers, name, words="", certificate=None, address=None):
        self.servers, self.name = servers, name
        self.folder = servers.make_folder(name)
        self.address = address or f"127.0.0.1:{ports(1)[0]}"
        line = ""
        if certificate:
            for suffix in (".pem", ".key"):
                with open(certificate + suffix, encoding="ascii") as f:
                    servers.write(f"{name}/own{suffix}", f.read())
            line = f"ssl_certificate {self.folder}/own.pem; ssl_certificate_key {self.folder}/own.key;"
        servers.write(f"{name}/health", "well\n")
        path = servers.write(f"{name}/nginx.conf", CONFIG.format(
            folder=self.folder, address=self.address, name=name, certificate=line,
            words="".join(" " + word for word in (["ssl"] if certificate else []) + words.split())))
        self.child = servers.start(name, "nginx", "-c", path, "-e", f"{self.folder}/error.log")
        host, _, port = self.address.partition(":")
        wait_for_port(int(port), servers, name, self.child, host)

    def write(self, name, text):
        self.servers.write(f"{self.name}/{name}", text)

    def crash(self):
        self.servers.kill(self.child)
