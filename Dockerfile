# weir in a 3 MB container:  docker build -t weir .
#   docker run --rm -p 8080:8080 -e WEIR_SERVER=10.0.0.1:80 weir
#   docker run --rm -p 8080:8080 -v ./weir.ini:/etc/weir/weir.ini:ro weir
#   docker run --rm -p 8080:8080 weir forward :8080 10.0.0.1:80 10.0.0.2:80
#
# The image contains the binary, the libraries that it is linked with, one user and one configuration file
# (conf/examples/container.ini): no shell, no package manager. SIGTERM drains weir, then it exits; logs go to
# stderr. driver = io_uring works where the runtime's seccomp profile allows it; most default profiles do not.

FROM debian:13-slim AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev meson ninja-build pkg-config libev-dev libinih-dev \
        liburing-dev libmicrohttpd-dev libc-ares-dev libcrypt-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN meson setup /build --prefix=/usr -Dtests=false -Dbench=false \
    && ninja -C /build \
    && install -D -s /build/src/weir /image/usr/bin/weir \
    && ldd /build/src/weir | grep -o '/[^ ]*' | while read -r lib; do install -D "$lib" "/image$lib"; done \
    && install -D -m 644 conf/examples/container.ini /image/etc/weir/weir.ini \
    && echo 'weir:x:10001:0:weir:/:/usr/sbin/nologin' >/image/etc/passwd \
    && printf 'root:x:0:\nweir:x:10001:\n' >/image/etc/group \
    && install -d /runtime && install -d -o 10001 -m 775 /runtime/weir

FROM scratch
COPY --from=build /image/ /
# Group 0 may write too: some clusters assign an arbitrary user, but keep it in this group.
COPY --from=build --chown=10001:0 /runtime/ /run/
ENV PATH=/usr/bin
USER 10001:0
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s CMD ["/usr/bin/weir", "healthcheck"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/weir"]
CMD ["-f", "/etc/weir/weir.ini"]
