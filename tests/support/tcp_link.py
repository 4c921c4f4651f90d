"""A link between two ends of TCP that a test can hold up or cut."""

import selectors
import socket
import threading
import time


class Link:
    """Listens on a free port and forwards to `target` ("host:port")."""

    def __init__(self, target):
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._open = threading.Event()
        self._open.set()
        self._refusing = False
        self._latency = 0.0
        self._pairs = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self):
        """Bytes wait from now on, as behind a firewall that drops packets."""
        self._open.clear()

    def cut(self):
        """Ends all connections and new ones at once."""
        self._refusing = True
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            for end in pair:
                _shut(end)

    def slow(self, seconds):
        """What is sent to the target arrives so much later, a request at a time."""
        self._latency = seconds

    def heal(self):
        self._refusing = False
        self._latency = 0.0
        self._open.set()

    def _accept(self):
        while True:
            near, _ = self._listener.accept()
            if self._refusing:
                near.close()
                continue
            threading.Thread(target=self._forward, args=(near,), daemon=True).start()

    def _forward(self, near):
        try:
            self._open.wait()
            far = socket.create_connection(self._target, 2)
        except OSError:
            near.close()
            return
        with self._lock:
            self._pairs.add((near, far))
        try:
            self._pump(near, far)
        except OSError:
            pass
        _shut(near)
        _shut(far)
        near.close()
        far.close()
        with self._lock:
            self._pairs.discard((near, far))

    def _pump(self, near, far):
        with selectors.DefaultSelector() as ready:
            ready.register(near, selectors.EVENT_READ, far)
            ready.register(far, selectors.EVENT_READ, near)
            while True:
                for key, _ in ready.select():
                    self._open.wait()
                    data = key.fileobj.recv(65536)
                    if not data:
                        return
                    if self._latency and key.fileobj is near:
                        time.sleep(self._latency)
                    key.data.sendall(data)


def _shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
