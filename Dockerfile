# SPDX-License-Identifier: Apache-2.0
# docker build -t bayesd . && docker run -d --name bayesd --read-only --cap-drop ALL --security-opt no-new-privileges \
#     -p 127.0.0.1:8763:8763 -v bayesd:/var/lib/bayesd bayesd
# The first start writes an access token into the volume; every request needs one (config/image/README.md).
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
# The user has the same number in every image, so that a folder of the host can be given to it.
# curl for the health check. The image has no service manager: services are not started by their packages.
RUN groupadd --system --gid 8763 bayesd \
    && useradd --system --uid 8763 --gid 8763 --home-dir /var/lib/bayesd --no-create-home --shell /usr/sbin/nologin bayesd \
    && apt-get update \
    && printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends curl \
        /packages/bayesd_*.deb /packages/bayesc_*.deb /packages/bayesd-milter_*.deb \
    && rm -rf /packages /var/lib/apt/lists/*
COPY config/image/start config/image/health /usr/local/bin/
# A number: runtimes that refuse root cannot look up a name.
USER 8763:8763
# All addresses of the container: how the port is published decides who reaches it, and nobody without a token.
# Other containers that call this one by its name need BAYESD_SERVER_HOSTS=that name, or a token.
ENV BAYESD_SERVER_LISTEN=0.0.0.0:8763 \
    BAYESD_STORE_DATA=/var/lib/bayesd
VOLUME /var/lib/bayesd
EXPOSE 8763
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["/usr/local/bin/health"]
ENTRYPOINT ["/usr/local/bin/start"]
