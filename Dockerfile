# sluice in a container:  docker build -t sluice .
#   docker run --rm -p 8080:8080 sluice forward :8080 10.0.0.1:80
#   docker run --rm -p 8080:8080 -v ./sluice.ini:/etc/sluice/sluice.ini:ro sluice

FROM debian:12-slim AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev meson ninja-build pkg-config libev-dev libinih-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY meson.build meson_options.txt ./
COPY include include
COPY src src
RUN meson setup /build --prefix=/usr -Dtests=false -Dbench=false \
    && DESTDIR=/out meson install -C /build --strip

FROM debian:12-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends libev4 libinih1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --user-group --no-create-home --shell /usr/sbin/nologin sluice \
    && install -d -o sluice -g sluice /run/sluice
COPY --from=build /out/usr/sbin/sluice /usr/sbin/sluice
COPY conf/sluice.ini /etc/sluice/sluice.ini
USER sluice
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/sbin/sluice"]
CMD ["-f", "/etc/sluice/sluice.ini"]
