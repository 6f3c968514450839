/* SPDX-License-Identifier: MIT
 *
 * sites.tbl.h - places where the modelled kernel may be unlucky: SITE(NAME, percent when active).
 *
 * Owns the list only; no thread, no room. A seed activates about a quarter of them.
 */
SITE(PREEMPT, 40)        /* the world goes on between two system calls */
SITE(SPURIOUS, 10)       /* an event that tells nothing new */
SITE(SEND_EAGAIN, 10)    /* no memory for a moment: EAGAIN, and an event when it is acknowledged */
SITE(SEND_NOBUFS, 2)     /* ENOBUFS from a Unix send */
SITE(PIPE_EMFILE, 50)    /* pipe2 fails */
SITE(PIPE_EPERM, 60)     /* F_SETPIPE_SZ fails, the pipe keeps two slots */
SITE(PIPE_SMALL, 100)    /* 16 slots instead of 64 */
SITE(UNSPLICEABLE, 30)   /* a socket that splice refuses with EINVAL */
SITE(SOCKET_EMFILE, 20)  /* socket fails */
SITE(ACCEPT_EMFILE, 20)  /* accept fails for want of descriptors */
SITE(ACCEPT_ABORTED, 20) /* ECONNABORTED */
SITE(DUP_EMFILE, 30)     /* dup fails */
SITE(LISTEN_INUSE, 40)   /* listen fails, in a transaction: the address was taken since */
SITE(HEAR_ENOBUFS, 30)   /* a deaf listener cannot hear again */
SITE(EPOLL_ENOSPC, 5)    /* EPOLL_CTL_ADD fails */
SITE(CONNECT_NOW, 30)    /* connect fails at once: EADDRNOTAVAIL, ENETUNREACH */
SITE(CONNECT_LATER, 40)  /* connect fails later: ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH */
SITE(WAIT_EMPTY, 10)     /* epoll_wait is interrupted */
SITE(WAIT_FEW, 50)       /* epoll_wait brings one event of many */
SITE(MARK_AHEAD, 60)     /* an urgent byte overtakes the bytes before it */
SITE(NO_ALARM, 50)       /* timerfd_settime fails */
