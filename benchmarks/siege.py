#!/usr/bin/env python3
"""Lays siege to a server with hostile bodies, and says what is left for others.

    siege.py PORT [SECONDS] [CONNECTIONS]

The server has a graph "search" whose input is {"item": text}, such as examples/pages/servers.cpp with the argument
`stay`. For SECONDS without and SECONDS with the siege, one client asks for /health again and again, and another one
runs the graph on new threads, each over one connection. CONNECTIONS processes send bodies of up to a megabyte: names
that collide, nesting, escapes, numbers, broken ends, wrong bytes, dripping chunks. It exits with 1 if /health takes
more than 100 ms at the 99th percentile, or honest runs lose more than half of their rate.
"""
import json
import multiprocessing
import socket
import sys
import time

HEAD = "POST /search/{}/start HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def bodies():
    size = 1_000_000
    many = ",".join('"%08x":1' % (i * 2654435761 % 2**32) for i in range(size // 14))
    return [
        ("{" + many + "}").encode(),
        ('{"input":{"item":"' + "\\u0041" * (size // 6) + '"}}').encode(),
        b'{"input":' + b"[" * 500_000 + b"]" * 499_000,
        b'{"input":{"item":[' + b"1e308," * (size // 6) + b"1]}}",
        b'{"input":{"item":"' + b"\xff\xfe" * (size // 2) + b'"}}',
        b'{"input":{"item":"' + b"x" * size,
        b'{"input":' + b'{"a":' * 150_000 + b"1" + b"}" * 150_000 + b"}",
        b"[" + b"{}," * (size // 3) + b"{}]",
    ]


def connect(port):
    link = socket.create_connection(("127.0.0.1", port), timeout=60)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def answer(reader):
    """Reads one answer, and returns its status."""
    status = int(reader.readline().split()[1])
    length, chunked = 0, False
    while (line := reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
        chunked = chunked or name.lower() == b"transfer-encoding"
    if not chunked:
        reader.read(length)
        return status
    while size := int(reader.readline(), 16):
        reader.read(size + 2)
    reader.readline()
    return status


def besiege(port, number, until):
    hostile, sent = bodies(), number
    while time.monotonic() < until:
        try:
            with connect(port) as link, link.makefile("rb") as reader:
                while time.monotonic() < until:
                    body = hostile[sent % len(hostile)][:1_000_000]
                    sent += 1
                    head = HEAD.format("siege")
                    if sent % 5 == 0:
                        head += "Transfer-Encoding: chunked\r\n\r\n"
                        pieces = b"".join(b"3;x=y\r\n" + body[i : i + 3] + b"\r\n" for i in range(0, 30_000, 3))
                        link.sendall(head.encode() + pieces + b"0\r\n\r\n")
                    else:
                        link.sendall((head + f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
                    answer(reader)
        except (OSError, ValueError, IndexError):
            pass  # the server has closed the connection


def watch(port, until, results):
    """How long /health takes, asked every 5 ms."""
    times = []
    with connect(port) as link, link.makefile("rb") as reader:
        while time.monotonic() < until:
            began = time.monotonic()
            link.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            if answer(reader) != 200:
                raise RuntimeError("/health is not 200")
            times.append(time.monotonic() - began)
            time.sleep(0.005)
    times.sort()
    results["p50"], results["p99"], results["max"] = (
        round(times[min(len(times) - 1, int(len(times) * part))] * 1000, 1) for part in (0.5, 0.99, 1)
    )


def work(port, name, until, results):
    """How many honest runs a second are answered."""
    runs, began = 0, time.monotonic()
    with connect(port) as link, link.makefile("rb") as reader:
        while time.monotonic() < until:
            body = b'{"input":{"item":"tea"}}'
            head = HEAD.format(f"{name}-{runs}") + f"Content-Length: {len(body)}\r\n\r\n"
            link.sendall(head.encode() + body)
            if answer(reader) != 200:
                raise RuntimeError("an honest run was refused")
            runs += 1
    results["runs_per_second"] = round(runs / (time.monotonic() - began), 1)


def measure(port, name, seconds, connections):
    until = time.monotonic() + seconds
    with multiprocessing.Manager() as manager:
        results = manager.dict()
        everybody = [
            multiprocessing.Process(target=watch, args=(port, until, results)),
            multiprocessing.Process(target=work, args=(port, name, until, results)),
        ]
        everybody += [multiprocessing.Process(target=besiege, args=(port, i, until)) for i in range(connections)]
        for each in everybody:
            each.start()
        for each in everybody:
            each.join()
        return dict(results)


def main():
    port = int(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 100
    connections = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    name = str(time.time_ns())
    without = measure(port, name + "-before", seconds, 0)
    under = measure(port, name + "-under", seconds, connections)
    kept = round(under["runs_per_second"] / without["runs_per_second"], 2)
    print(json.dumps({"without": without, "under_siege": under, "rate_kept": kept}))
    sys.exit(0 if under["p99"] <= 100 and kept >= 0.5 else 1)


if __name__ == "__main__":
    main()
