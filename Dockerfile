# SPDX-License-Identifier: Apache-2.0
# docker build -t bayesd . && docker run -p 127.0.0.1:8763:8763 -v bayesd:/var/lib/bayesd bayesd
FROM debian:bookworm-slim AS build
WORKDIR /src
COPY scripts/install-deps scripts/install-deps
RUN scripts/install-deps && rm -rf /var/lib/apt/lists/*
COPY . .
RUN make -j"$(nproc)" && make install DESTDIR=/out PREFIX=/usr \
    && strip /out/usr/bin/*

FROM debian:bookworm-slim
# The libraries of `readelf -d bayesd`; curl for the health check.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        curl libcurl4 libglib2.0-0 libgmime-3.0-0 libgnutls30 libjansson4 liblmdb0 libmicrohttpd12 libmilter1.0.1 \
        libsodium23 libsystemd0 libutf8proc2 libxxhash0 libzstd1 zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 8763 --home-dir /var/lib/bayesd --shell /usr/sbin/nologin bayesd \
    && install -d -o bayesd -g bayesd -m 700 /var/lib/bayesd
COPY --from=build /out/usr/bin/ /usr/bin/
COPY --from=build --chown=root:bayesd /out/etc/bayesd/bayesd.conf /etc/bayesd/bayesd.conf
USER bayesd
# The daemon listens on all addresses of the container; how the port is published decides who reaches it.
# Without [tokens] there is no authentication: publish the port to 127.0.0.1, as above. Other containers that
# call this one by its name need BAYESD_SERVER_HOSTS=that name, or a token.
ENV BAYESD_SERVER_LISTEN=0.0.0.0:8763 \
    BAYESD_SERVER_INSECURE=yes \
    BAYESD_STORE_DATA=/var/lib/bayesd
VOLUME /var/lib/bayesd
EXPOSE 8763
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8763/healthz"]
ENTRYPOINT ["/usr/bin/bayesd", "--config", "/etc/bayesd/bayesd.conf"]
