# SPDX-License-Identifier: Apache-2.0
"""Hostile clients, as a program of their own so that they do not slow down who measures.

    hostile.py PORT SECONDS CLIENTS [KIND,KIND...]

Each client does one thing over and over (all KINDS, or those given, in turn), all from addresses of loopback that nobody else
uses. The last line on standard output is JSON: how often each thing was done, by kind."""
import asyncio
import json
import struct
import sys
import time
import zlib

MODEL = "healthy"
CLASSIFY = f"POST /v1/models/{MODEL}/classify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n"
LARGE = 8 << 20
UNREAD = 4096  # bytes of a socket's buffer, so that a reply that is not read stays the daemon's


# ---- bodies -------------------------------------------------------------------------------------
def zstd_bomb(size, byte=b"\n"):
    """A frame of RFC 8878 that unpacks to `size` bytes all alike: blocks of 128 KiB, 4 bytes each."""
    block, frame = 128 << 10, b"\x28\xb5\x2f\xfd\x00\x38"
    for at in range(0, size, block):
        now = min(block, size - at)
        frame += struct.pack("<I", (at + now == size) | 1 << 1 | now << 3)[:3] + byte
    return frame


def gzip_bomb(size):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(b"a" * size) + packer.flush()


MAIL = (b"From: a@example.org\r\nSubject: large\r\n\r\n" + b"words of a mail that is large and says little\r\n" * (LARGE // 47))
LINES = b'{"text":"words words words"}\n' * 100000
ZSTD, GZIP = zstd_bomb(1 << 30), gzip_bomb(200 << 20)


# ---- what they do -------------------------------------------------------------------------------
class Client:
    """Number `number` of them, until `end` (time.monotonic)."""

    def __init__(self, port, number, end):
        self.port, self.end, self.address = port, end, f"127.1.{number // 250}.{number % 250 + 1}"
        self.done = 0

    async def open(self, limit=65536):
        return await asyncio.wait_for(asyncio.open_connection(
            "127.0.0.1", self.port, local_addr=(self.address, 0), limit=limit), 10)

    def left(self):
        return max(0.0, self.end - time.monotonic())

    async def hold(self, reader, seconds):
        """Waits until the daemon closes the connection."""
        try:
            await asyncio.wait_for(reader.read(), min(seconds, self.left()))
        except asyncio.TimeoutError:
            pass

    async def hold_unread(self, writer, seconds):
        """Reads nothing: only a reset ends it before its time."""
        end = time.monotonic() + min(seconds, self.left())
        while time.monotonic() < end and not writer.is_closing():
            await asyncio.sleep(0.5)

    # One of each, and what it tries.
    async def slow_head(self):
        """A byte every two seconds."""
        reader, writer = await self.open()
        for byte in (CLASSIFY + "Content-Length: 1\r\n\r\nx").encode():
            writer.write(bytes((byte,)))
            await writer.drain()
            if reader.at_eof() or not self.left():
                break
            await asyncio.sleep(min(2, self.left()))
        writer.close()

    async def slow_body(self):
        """A large body is promised and comes in drops."""
        reader, writer = await self.open()
        writer.write((CLASSIFY + f"Content-Length: {60 << 20}\r\n\r\n").encode() + b"x" * 100000)
        while self.left() and not reader.at_eof():
            writer.write(b"word ")
            await writer.drain()
            await asyncio.sleep(min(1, self.left()))
        writer.close()

    async def half_request(self):
        """Closed in the middle, at once; fifty a second in all."""
        _, writer = await self.open()
        writer.write((CLASSIFY + "Content-Length: 1000\r\n\r\nhalf").encode()[:80 + 7 * (self.done % 12)])
        writer.close()
        await asyncio.sleep(0.5)

    async def unread_reply(self):
        """A reply of megabytes that nobody reads."""
        reader, writer = await self.open(limit=UNREAD)
        reader._transport.pause_reading()
        writer.write((f"POST /v1/models/{MODEL}/classify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
                      f"application/x-ndjson\r\nContent-Length: {len(LINES)}\r\n\r\n").encode() + LINES)
        await self.hold_unread(writer, 60)
        writer.transport.abort()

    async def bomb(self):
        """A gigabyte in 32 KB, or 200 MB in 200."""
        reader, writer = await self.open()
        body, coding = ((ZSTD, "zstd"), (GZIP, "gzip"))[self.done % 2]
        kind = ("application/x-ndjson", "text/plain", "message/rfc822")[self.done % 3]
        writer.write((f"POST /v1/models/{MODEL}/classify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n"
                      f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)
        await self.hold(reader, 10)
        writer.close()
        await asyncio.sleep(min(2, self.left()))

    async def many(self):
        """Ten connections that say nothing."""
        held = []
        try:
            for _ in range(10):
                held.append(await self.open())
            await asyncio.gather(*(self.hold(reader, 60) for reader, _ in held))
        finally:
            for _, writer in held:
                writer.close()

    async def spamc(self):
        """A mail to be sent back with its header, to nobody."""
        reader, writer = await self.open(limit=UNREAD)
        reader._transport.pause_reading()
        writer.write(b"PROCESS SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(MAIL) + MAIL)
        await self.hold_unread(writer, 60)
        writer.transport.abort()

    async def half_line(self):
        """The head of a line protocol, and no more."""
        reader, writer = await self.open()
        writer.write(b"SYMBOLS SPAMC/1.5\r\nContent-length: 100000\r\n\r\nhalf a mail")
        await self.hold(reader, 60)
        writer.close()

    async def run(self, kind):
        while self.left():
            try:
                await getattr(self, kind)()
                self.done += 1
            except (OSError, asyncio.TimeoutError):
                await asyncio.sleep(min(0.2, self.left()))  # turned away: that is the daemon's right


KINDS = ("slow_head", "slow_body", "half_request", "unread_reply", "bomb", "many", "spamc", "half_line")


async def attack(port, seconds, count, kinds=KINDS):
    end = time.monotonic() + seconds
    clients = [Client(port, number, end) for number in range(count)]
    runs = [asyncio.create_task(client.run(kinds[i % len(kinds)])) for i, client in enumerate(clients)]
    await asyncio.wait(runs, timeout=seconds + 5)
    for run in runs:
        run.cancel()
    done = dict.fromkeys(kinds, 0)
    for i, client in enumerate(clients):
        done[kinds[i % len(kinds)]] += client.done
    print(json.dumps(done), flush=True)


if __name__ == "__main__":
    asyncio.run(attack(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]),
                       *(argument.split(",") for argument in sys.argv[4:])))
