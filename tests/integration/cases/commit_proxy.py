"""A TCP link to the database that can lose the reply to a commit."""

import socket
import threading


class CommitProxy:
    """Forwards. Once armed, it hands the next COMMIT on and cuts the link before the reply."""

    def __init__(self, target_port):
        self.target_port = target_port
        self.cut = 0
        self._armed = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self):
        self._armed.set()

    @property
    def armed(self):
        return self._armed.is_set()

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target_port), 5)
            except OSError:
                return
            server.settimeout(None)
            muted = threading.Event()
            threading.Thread(target=self._to_server, args=(client, server, muted),
                             daemon=True).start()
            threading.Thread(target=self._to_client, args=(server, client, muted),
                             daemon=True).start()

    def _to_server(self, client, server, muted):
        try:
            while data := client.recv(65536):
                if b"COMMIT" in data[4:].upper()[:16] and self._armed.is_set():
                    self._armed.clear()
                    self.cut += 1
                    muted.set()
                server.sendall(data)
        except OSError:
            pass
        self._end(server)

    def _to_client(self, server, client, muted):
        try:
            while data := server.recv(65536):
                if muted.is_set():
                    break  # The server has answered: it has committed. Nobody will hear of it.
                client.sendall(data)
        except OSError:
            pass
        self._end(client)
        self._end(server)

    @staticmethod
    def _end(link):
        try:
            link.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
