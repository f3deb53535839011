#!/usr/bin/env python3
"""Has a server with LangGraph's interface stream many runs at once, and says how fast it was.

    langgraph_streams.py ADDRESS [STREAMS] [ROUNDS] [--assistant NAME] [--process ID]

ADDRESS is HOST:PORT, of stategraph-langgraph-server or of another server with the same graphs
(tests/langgraph/recorded/graphs.json). STREAMS clients (1,000) each open a connection and have a run of the graph
NAME ("tokens") streamed with the modes "messages-tuple" and "values", ROUNDS times (5) one after the other, each time
on a new thread of the server's own. It prints one line of JSON: events a second of all together, milliseconds from the
request to the first event of a message (median and 99th percentile), responses that were not whole, and the resident
memory of PROCESS in megabytes before and after.
"""
import argparse
import asyncio
import json
import time


def resident(process):
    if not process:
        return None
    with open(f"/proc/{process}/status") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return None


async def stream(address, body, seen):
    host, port = address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 20)
    began = time.perf_counter()
    writer.write(
        b"POST /runs/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
        b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body
    )
    first = None
    events = 0
    is_whole = False
    while line := await reader.readline():
        if line.startswith(b"event: "):
            events += 1
            if first is None and line.startswith(b"event: messages"):
                first = time.perf_counter() - began
        is_whole = line.strip() == b"0" or (is_whole and not line.strip())
    writer.close()
    seen.append((events, first, is_whole and first is not None))


async def client(arguments, body, seen):
    for _ in range(arguments.rounds):
        try:
            await stream(arguments.address, body, seen)
        except OSError:
            seen.append((0, None, False))


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("streams", nargs="?", type=int, default=1000)
    parser.add_argument("rounds", nargs="?", type=int, default=5)
    parser.add_argument("--assistant", default="tokens")
    parser.add_argument("--process", type=int)
    arguments = parser.parse_args()
    body = json.dumps(
        {
            "assistant_id": arguments.assistant,
            "input": {"messages": [{"role": "user", "content": "hello"}]},
            "stream_mode": ["messages-tuple", "values"],
        }
    ).encode()
    await stream(arguments.address, body, [])  # so that nobody measures what the first one loads
    before = resident(arguments.process)
    seen = []
    began = time.perf_counter()
    await asyncio.gather(*[client(arguments, body, seen) for _ in range(arguments.streams)])
    took = time.perf_counter() - began
    firsts = sorted(first * 1000 for _, first, _ in seen if first is not None)
    print(
        json.dumps(
            {
                "streams": arguments.streams,
                "seconds": round(took, 2),
                "events_a_second": round(sum(events for events, _, _ in seen) / took),
                "first_token_ms": round(firsts[len(firsts) // 2], 1) if firsts else None,
                "first_token_ms_99": round(firsts[len(firsts) * 99 // 100], 1) if firsts else None,
                "not_whole": sum(not is_whole for _, _, is_whole in seen),
                "resident_mb": [before and round(before), (after := resident(arguments.process)) and round(after)],
            }
        )
    )


asyncio.run(main())
