# SPDX-License-Identifier: MIT
"""Postfix and Dovecot as one mail server with one user, at the ports that mail.ini names."""

import os

import own_root
from harness.timing import wait_until
from servers import SLOW, ports, wait_for_port

POSTFIX, DROP, VMAIL, DOVECOT, LOGIN = 101, 102, 103, 104, 105
PASSWD = f"""\
root:x:0:0::/:/bin/sh
nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin
postfix:x:{POSTFIX}:{POSTFIX}::/nonexistent:/usr/sbin/nologin
vmail:x:{VMAIL}:{VMAIL}::/nonexistent:/usr/sbin/nologin
dovecot:x:{DOVECOT}:{DOVECOT}::/nonexistent:/usr/sbin/nologin
dovenull:x:{LOGIN}:{LOGIN}::/nonexistent:/usr/sbin/nologin
"""
GROUP = f"""\
root:x:0:
nogroup:x:65534:
postfix:x:{POSTFIX}:
postdrop:x:{DROP}:
vmail:x:{VMAIL}:
dovecot:x:{DOVECOT}:
dovenull:x:{LOGIN}:
"""
MAIN = """\
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/log/postfix
maillog_file_prefixes = {folder}/log
daemon_directory = /usr/lib/postfix/sbin
myhostname = mail.example.test
mydestination =
mynetworks = 127.0.0.1/32
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
smtpd_peername_lookup = no
smtpd_tls_security_level = none
smtpd_relay_restrictions = reject_unauth_destination
message_size_limit = 0
mailbox_size_limit = 0
virtual_mailbox_limit = 0
virtual_mailbox_domains = example.test
virtual_mailbox_base = {folder}/mail
virtual_mailbox_maps = static:alice/
virtual_uid_maps = static:{vmail}
virtual_gid_maps = static:{vmail}
virtual_alias_maps =
alias_maps =
default_database_type = texthash
postscreen_greet_wait = 1s
postscreen_denylist_action = enforce
postscreen_access_list = permit_mynetworks, cidr:/etc/postfix/access
postscreen_cache_map =
"""
MASTER = """\
127.0.0.1:{smtp}       inet n - n - 1 postscreen -o postscreen_upstream_proxy_protocol=haproxy
127.0.0.1:{submission} inet n - n - - smtpd -o smtpd_upstream_proxy_protocol=haproxy
smtpd   pass - - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr    unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce  unix - - n - 0 bounce
defer   unix - - n - 0 bounce
trace   unix - - n - 0 bounce
flush   unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
error   unix - - n - - error
retry   unix - - n - - error
virtual unix - n n - - virtual
anvil   unix - - n - 1 anvil
dnsblog unix - - n - 0 dnsblog
tlsproxy unix - - n - 0 tlsproxy
postlog unix-dgram n - n - 1 postlogd
"""
DOVE = """\
protocols = imap
listen = 127.0.0.1
base_dir = {folder}/run
state_dir = {folder}/run
log_path = {folder}/log/dovecot
ssl = no
disable_plaintext_auth = no
haproxy_trusted_networks = 127.0.0.0/8
mail_location = maildir:{folder}/mail/%u
first_valid_uid = 1
passdb {{
  driver = static
  args = password=secret
}}
userdb {{
  driver = static
  args = uid=vmail gid=vmail home={folder}/mail/%u
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {imap}
    haproxy = yes
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
"""


class Mail:
    def __init__(self, servers):
        own_root.need_root()
        self.servers = servers
        self.smtp, self.submission, self.imap = ports(3)
        self.etc = os.path.join(servers.folder, "etc")
        # Postfix refuses what others may write; folders belong to who writes them.
        for name, user, group, mode in (("queue", 0, 0, 0o755), ("data", POSTFIX, POSTFIX, 0o700),
                                        ("mail", VMAIL, VMAIL, 0o700), ("run", 0, 0, 0o755),
                                        ("log", 0, 0, 0o755)):
            self.folder(name, user, group, mode)
        for name in ("active", "bounce", "corrupt", "defer", "deferred", "flush", "hold", "incoming",
                     "private", "saved", "trace"):
            self.folder("queue/" + name, POSTFIX, 0, 0o700)
        self.folder("queue/pid", 0, 0, 0o755)
        self.folder("queue/public", POSTFIX, DROP, 0o710)
        self.folder("queue/maildrop", POSTFIX, DROP, 0o730)
        words = {"folder": servers.folder, "smtp": self.smtp, "submission": self.submission,
                 "imap": self.imap, "vmail": VMAIL}
        self.write("passwd", PASSWD)
        self.write("group", GROUP)
        self.write("postfix/main.cf", MAIN.format(**words))
        self.write("postfix/master.cf", MASTER.format(**words))
        self.write("postfix/access", "127.0.0.78/32 reject\n")
        self.write("dovecot/dovecot.conf", DOVE.format(**words))
        own_root.need(servers.tree, self.etc)
        for name, program, port in (("postfix", ["/usr/lib/postfix/sbin/master", "-d"], self.smtp),
                                    ("dovecot", ["/usr/sbin/dovecot", "-F"], self.imap)):
            with open(servers.log_path(name), "ab") as out:
                child = own_root.launch(servers.tree, self.etc, program, out)
            servers.children.append(child)
            wait_for_port(port, servers, name, child)

    def folder(self, name, user, group, mode):
        path = os.path.join(self.servers.folder, name)
        os.makedirs(path, exist_ok=True)
        os.chown(path, own_root.FIRST + user, own_root.FIRST + group)
        os.chmod(path, mode)

    def write(self, name, text):
        path = os.path.join(self.etc, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        for one in (os.path.dirname(path), path):
            os.chown(one, own_root.FIRST, own_root.FIRST)
            os.chmod(one, 0o755)

    def log(self, name):
        """What `postfix` or `dovecot` has logged."""
        try:
            path = os.path.join(self.servers.folder, "log", name)
            with open(path, encoding="utf-8", errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def wait_for_log(self, name, text):
        wait_until(lambda: text in self.log(name),
                   lambda: f"{text!r} in the log of {name}: {self.log(name)[-3000:]}", SLOW)
