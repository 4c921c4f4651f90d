"""Reads ZooKeeper: just enough of its protocol to look at nodes and their owners."""

import collections
import socket
import struct

Node = collections.namedtuple("Node", "data owner version")  # owner: session of an ephemeral, else 0


class ZkError(Exception):
    pass


class ZkReader:
    """One session with one member. Not for two threads."""

    _GET_DATA, _GET_CHILDREN, _CLOSE = 4, 8, -11

    def __init__(self, address, timeout=5.0):
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout)
        self._xid = 0
        # Protocol 0, last zxid 0, timeout in ms, session 0, no password.
        self._send(struct.pack(">iqiq", 0, 0, 10000, 0) + struct.pack(">i", 16) + bytes(16))
        reply = self._receive()
        if struct.unpack_from(">q", reply, 8)[0] == 0:
            raise ZkError("no session")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._send(struct.pack(">ii", 0, self._CLOSE))
        self._socket.close()

    def _send(self, body):
        self._socket.sendall(struct.pack(">i", len(body)) + body)

    def _read(self, size):
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ZkError("connection lost")
            data += part
        return data

    def _receive(self):
        return self._read(struct.unpack(">i", self._read(4))[0])

    def _call(self, kind, path):
        self._xid += 1
        name = path.encode()
        self._send(struct.pack(">iii", self._xid, kind, len(name)) + name + b"\0")
        reply = self._receive()
        error = struct.unpack_from(">i", reply, 12)[0]
        if error == -101:
            raise KeyError(path)
        if error != 0:
            raise ZkError(f"{path}: error {error}")
        return reply[16:]

    def get(self, path):
        """Node; KeyError if there is none."""
        body = self._call(self._GET_DATA, path)
        length = struct.unpack_from(">i", body)[0]
        data = body[4:4 + max(0, length)]
        # czxid, mzxid, ctime, mtime, version, cversion, aversion, ephemeralOwner
        stat = struct.unpack_from(">qqqqiiiq", body, 4 + max(0, length))
        return Node(data, stat[7], stat[4])

    def children(self, path):
        body = self._call(self._GET_CHILDREN, path)
        count, at, names = struct.unpack_from(">i", body)[0], 4, []
        for _ in range(count):
            length = struct.unpack_from(">i", body, at)[0]
            names.append(body[at + 4:at + 4 + length].decode())
            at += 4 + length
        return sorted(names)

    def tree(self, path):
        """{path: Node} of that node and all below it."""
        nodes = {path: self.get(path)}
        for child in self.children(path):
            nodes.update(self.tree(f"{path.rstrip('/')}/{child}"))
        return nodes
