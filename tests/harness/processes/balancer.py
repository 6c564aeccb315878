"""A balancer of TCP connections: each goes to the first of its ports that answers."""

import socket
import threading
from contextlib import suppress


class Balancer:
    """Listens on a port of its own, and passes on whatever comes to one of several others."""

    def __init__(self, *behind: int) -> None:
        """Listen now; `behind` are tried in order for every connection."""
        self._behind = behind
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listening.accept()
                threading.Thread(target=self._pass_on, args=(caller,), daemon=True).start()

    def _pass_on(self, caller: socket.socket) -> None:
        for port in self._behind:
            with suppress(OSError):
                server = socket.create_connection(("127.0.0.1", port))
                threading.Thread(target=_copy, args=(server, caller), daemon=True).start()
                _copy(caller, server)
                return
        caller.close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(2**16):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
