# SPDX-License-Identifier: Apache-2.0
# Debian's nats-server, for compose.yaml.
FROM debian:bookworm-slim
RUN apt-get update \
    && printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nats-server \
    && rm -rf /var/lib/apt/lists/* && install -d -o nats -g nats -m 700 /var/lib/nats
COPY nats-server-compose.conf /etc/nats/nats-server.conf
USER nats
VOLUME /var/lib/nats
ENTRYPOINT ["nats-server", "-c", "/etc/nats/nats-server.conf"]
