"""A reader of server-sent events."""

import http.client
import json


class EventStream:
    """GET of an event stream; `last` is the id to go on behind. Iterates over (id, event, data)
    until the stream ends; raises OSError (TimeoutError) when it is silent for `timeout` seconds."""

    def __init__(self, address, token, path="/api/v1/watch", last=None, timeout=20.0):
        self.last = last
        self._connection = http.client.HTTPConnection(address, timeout=timeout)
        headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
        if last:
            headers["Last-Event-ID"] = last
        self._connection.request("GET", path, headers=headers)
        self.reply = self._connection.getresponse()

    @property
    def status(self):
        return self.reply.status

    def __iter__(self):
        return self

    def __next__(self):
        event, data = None, None
        while True:
            try:
                line = self.reply.readline()
            except http.client.IncompleteRead:
                line = b""
            if not line:
                raise StopIteration
            line = line.decode().rstrip("\n")
            if line.startswith("id: "):
                self.last = line[4:]
            elif line.startswith("event: "):
                event = line[7:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif not line and event:
                return self.last, event, data

    def until(self, wanted):
        """All events up to and with the first that `wanted(event, data)` takes."""
        seen = []
        for last, event, data in self:
            seen.append((last, event, data))
            if wanted(event, data):
                return seen
        raise AssertionError(f"the stream ended before it came; seen: {seen}")

    def close(self):
        self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
