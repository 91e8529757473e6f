# SPDX-License-Identifier: Apache-2.0
# docker build -t bayesd . && docker run -p 127.0.0.1:8763:8763 -v bayesd:/var/lib/bayesd bayesd
# The first start shows an access token of the role admin; every request needs one (config/image/README.md).
FROM debian:bookworm-slim AS build
WORKDIR /src/bayesd
COPY debian/control debian/changelog debian/
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends build-essential \
    && DEBIAN_FRONTEND=noninteractive apt-get build-dep -y --no-install-recommends -P nocheck ./
COPY . .
RUN DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$(nproc)" DEB_BUILD_PROFILES=nocheck \
        dpkg-buildpackage -us -uc -b

FROM debian:bookworm-slim
COPY --from=build /src/*.deb /packages/
# curl for the health check. The image has no service manager: services are not started by their packages.
RUN apt-get update \
    && printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends curl \
        /packages/bayesd_*.deb /packages/bayesc_*.deb \
    && rm -rf /packages /var/lib/apt/lists/*
COPY config/image/start /usr/local/bin/start
USER bayesd
# All addresses of the container: how the port is published decides who reaches it, and nobody without a token.
# Other containers that call this one by its name need BAYESD_SERVER_HOSTS=that name, or a token.
ENV BAYESD_SERVER_LISTEN=0.0.0.0:8763 \
    BAYESD_STORE_DATA=/var/lib/bayesd
VOLUME /var/lib/bayesd
EXPOSE 8763
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD curl -fsS -o /dev/null "http://127.0.0.1:${BAYESD_SERVER_LISTEN##*:}/healthz"
ENTRYPOINT ["/usr/local/bin/start"]
