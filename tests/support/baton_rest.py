"""The REST API of baton, spoken with the standard library."""

import http.client
import json
import threading
import time
import urllib.parse
import uuid

TERMINAL = ("FINISHED", "FAILED", "SKIPPED", "TERMINATED")


class Answer:
    """Status, headers (lower case) and body of one reply."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body) if self.body else None

    @property
    def code(self):
        """The `code` of a problem; empty if it is none."""
        try:
            return self.json.get("code", "")
        except (ValueError, AttributeError):
            return ""

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class RequestFailed(AssertionError):
    def __init__(self, answer):
        super().__init__(repr(answer))
        self.answer = answer


class Rest:
    """A client of all masters with one token; safe to use from many threads."""

    def __init__(self, addresses, token):
        self.addresses = list(addresses)
        self.token = token
        self._local = threading.local()
        self._favourite = self.addresses[0]

    def once(self, address, method, path, body=None, key=None, timeout=5.0, headers=None):
        """One request to one master. Raises OSError or HTTPException without an answer."""
        kept = self._local.__dict__.setdefault("connections", {})
        connection = kept.pop(address, None)
        reused = connection is not None
        if connection is None:
            connection = http.client.HTTPConnection(address, timeout=timeout)
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        data = None
        if body is not None:
            data = body if isinstance(body, (bytes, str)) else json.dumps(body)
            data = data.encode() if isinstance(data, str) else data
            sent.setdefault("Content-Type", "application/json")
        if key:
            sent["Idempotency-Key"] = key
        try:
            connection.timeout = timeout
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            connection.request(method, path, body=data, headers=sent)
            reply = connection.getresponse()
            answer = Answer(reply.status, {k.lower(): v for k, v in reply.getheaders()},
                            reply.read())
        except (OSError, http.client.HTTPException):
            connection.close()
            if reused and (method in ("GET", "HEAD") or key):
                # The server may have closed it between two requests.
                return self.once(address, method, path, body, key, timeout, headers)
            raise
        if reply.will_close:
            connection.close()
        else:
            kept[address] = connection
        return answer

    def close(self):
        """Closes the connections that the calling thread has kept."""
        for connection in self._local.__dict__.pop("connections", {}).values():
            connection.close()

    def request(self, method, path, body=None, key=None, timeout=20.0, once_timeout=5.0,
                accept=(200, 201), headers=None):
        """Rides out a failover: repeats until a master answers anything but 503."""
        end = time.monotonic() + timeout
        turn = self.addresses.index(self._favourite)
        last = None
        while True:
            address = self.addresses[turn % len(self.addresses)]
            try:
                answer = self.once(address, method, path, body, key,
                                   max(0.2, min(once_timeout, end - time.monotonic())), headers)
            except (OSError, http.client.HTTPException) as error:
                last = error
                turn += 1
            else:
                if answer.status != 503:
                    self._favourite = address
                    if answer.status not in accept:
                        raise RequestFailed(answer)
                    return answer
                last = answer
                turn = self._next_turn(turn, answer)
            if time.monotonic() >= end:
                raise TimeoutError(f"{method} {path}: no answer within {timeout} s; last: {last!r}")
            time.sleep(0.02)

    def _next_turn(self, turn, answer):
        try:
            return self.addresses.index((answer.json.get("active") or {}).get("address"))
        except (ValueError, AttributeError):
            return turn + 1

    def get(self, path, **options):
        return self.request("GET", path, **options).json

    def post(self, path, body=None, key=None, **options):
        return self.request("POST", path, body, key, **options).json

    def submit(self, task, key=None, timeout=30.0, once_timeout=5.0):
        """Id of a new task. Repeated over a failover with one idempotency key."""
        return self.post("/api/v1/tasks", task, key or uuid.uuid4().hex, timeout=timeout,
                         once_timeout=once_timeout)["id"]

    def submit_bulk(self, tasks, key=None, timeout=60.0):
        return self.post("/api/v1/tasks/bulk", {"tasks": tasks}, key or uuid.uuid4().hex,
                         timeout=timeout,
                         once_timeout=2 + len(tasks) / 400)["ids"]

    def task(self, task_id, **options):
        return self.get(f"/api/v1/tasks/{task_id}", **options)

    def attempts(self, task_id):
        answer = self.get(f"/api/v1/tasks/{task_id}/attempts")
        return answer["items"] if isinstance(answer, dict) else answer

    def act(self, task_id, verb, body=None, **options):
        """stop, skip, hold, release, rerun or force-success."""
        return self.request("POST", f"/api/v1/tasks/{task_id}/{verb}", body, **options)

    def output(self, task_id, stream="stdout", attempt=None, timeout=20.0):
        """The whole output of an attempt, as bytes."""
        query = {"stream": stream}
        if attempt is not None:
            query["attempt"] = attempt
        return self.request("GET", f"/api/v1/tasks/{task_id}/logs/download?" +
                            urllib.parse.urlencode(query), timeout=timeout).body

    def tasks(self, **filters):
        """All tasks of a list, page by page."""
        return self.pages("/api/v1/tasks", **filters)

    def pages(self, path, **filters):
        """All items of a list, page by page."""
        query = {"limit": 1000, **filters}
        while True:
            page = self.get(path + "?" + urllib.parse.urlencode(query))
            yield from page["items"]
            if not page["next_cursor"]:
                return
            query["cursor"] = page["next_cursor"]
