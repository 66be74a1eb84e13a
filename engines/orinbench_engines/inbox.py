"""What the daemon tells a running worker: acknowledgements, stop, and that it is gone."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

from orinbench.internal.v1.worker_pb2 import ToWorker

from orinbench_engines.protocol import Channel, ProtocolError

EXIT_DAEMON_GONE = 3
EXIT_PROTOCOL = 4


class Inbox:
    """Reads the daemon's messages in a thread of its own.

    When the daemon is gone the process ends at once: nobody may keep the GPU for a run that nobody records.
    """

    def __init__(self, channel: Channel[ToWorker], first_index: int, window: int) -> None:
        self._channel = channel
        self._window = window
        self._changed = threading.Condition()
        self._acknowledged = first_index - 1
        self._stop = False
        self._ending = False
        self._closed = False

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._read, name="inbox", daemon=True).start()

    @property
    def stop_requested(self) -> bool:
        """Whether the daemon asked to stop."""
        return self._stop

    def wait_for_room(self, index: int) -> bool:
        """Wait until the result of `index` fits the window of unacknowledged ones; False when told to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._stop or index - self._acknowledged <= self._window)
            return not self._stop

    def expect_end(self) -> None:
        """From now on the daemon may close: our last message is about to be sent."""
        with self._changed:
            self._ending = True

    def wait_for_end(self, last_index: int, timeout: float | None) -> None:
        """Wait until every result up to `last_index` is acknowledged, or the daemon has closed.

        A socket closed with acknowledgements unread would make the daemon read a reset instead of our last words.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._acknowledged >= last_index, timeout)

    def _read(self) -> None:
        try:
            while (message := self._channel.receive()) is not None:
                self._take(message)
        except ProtocolError as error:
            _leave(EXIT_PROTOCOL, str(error))
        with self._changed:
            if not self._ending:
                _leave(EXIT_DAEMON_GONE, "the daemon has gone")
            self._closed = True
            self._changed.notify_all()

    def _take(self, message: ToWorker) -> None:
        with self._changed:
            if message.HasField("ack"):
                self._acknowledged = max(self._acknowledged, message.ack.index)
            elif message.HasField("stop"):
                self._stop = True
            else:
                _leave(EXIT_PROTOCOL, "prepare came twice")
            self._changed.notify_all()


def _leave(code: int, why: str) -> None:
    # Not sys.exit: this thread cannot end the process, and the main thread may be inside a driver for ever.
    with suppress(OSError):  # whoever read it has died with the daemon
        os.write(sys.stderr.fileno(), f"orinbench worker: {why}\n".encode())
    os._exit(code)
