"""A TCP proxy in front of each server, which can lose the servers' answers."""
import asyncio
import threading


class Proxies:
    """Runs on a thread of its own. `ports` are in the order of `servers`."""

    def __init__(self, servers):
        self.loop = asyncio.new_event_loop()
        self.loses = False  # answers of servers are thrown away
        self.lost = 0       # bytes of them
        self.connections = set()
        self.listeners = [self.loop.run_until_complete(asyncio.start_server(self.handler(port), "127.0.0.1", 0)) for port in servers]
        self.ports = [each.sockets[0].getsockname()[1] for each in self.listeners]
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def handler(self, port):
        async def serve(reader, writer):
            try:
                inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                writer.close()
                return
            self.connections.update((writer, inner_writer))
            await asyncio.gather(self.pass_on(reader, inner_writer, False), self.pass_on(inner_reader, writer, True))
            self.connections.difference_update((writer, inner_writer))
        return serve

    async def pass_on(self, reader, writer, is_answer):
        try:
            while data := await reader.read(1 << 16):
                if is_answer and self.loses:
                    self.lost += len(data)
                    continue
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    def lose_answers(self):
        self.loses = True

    def cut(self):
        """Ends all connections, and passes answers on again."""
        def end():
            for each in list(self.connections):
                each.transport.abort()
            self.loses = False
        self.loop.call_soon_threadsafe(end)
