"""Kills the daemon of a mount again and again while programs run: another takes its place, which they must not notice."""

import random
import threading
import time

from .mount import Device, Failure

# Between two kills at most. The shortest programs take some tenths of a second.
LONGEST_SECONDS = 0.8
END_SECONDS = 30


class Replacing:
    def __init__(self, device: Device) -> None:
        self.device = device
        self.done = threading.Event()
        self.failure: Failure | None = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        # Not by the seed: what matters is what the kernel is in the middle of, which no seed repeats.
        choice = random.Random(time.monotonic_ns())
        while not self.done.wait(choice.uniform(0, LONGEST_SECONDS)):
            # Not while a command is answered: its connection ends with the daemon.
            try:
                with self.device.guard:
                    self.device.kill()
            except Failure as failure:
                self.failure = failure
                return

    def end(self) -> None:
        self.done.set()
        self.thread.join(END_SECONDS)
        if self.failure:
            # Else the rest of the programs would be compared without what they are compared for.
            raise self.failure
