"""The keys of an encrypted container, changed while something goes wrong.

A change that was acknowledged must be in effect afterwards; one that was in progress may be.
"""

import os
import random
import subprocess

from crashes import Device, Program

LONGEST_PAUSE_SECONDS = 0.4


class Keys:
    """The passphrase and the recovery code of one container, and which passphrases may be the one in effect."""

    def __init__(self, work: str) -> None:
        self.work = work
        self.recovery = os.path.join(work, "recovery-code")
        self.serial = 0
        self.may_be = [self.another()]

    def another(self) -> str:
        """A file with a passphrase that was never in effect."""
        self.serial += 1
        path = os.path.join(self.work, f"passphrase-{self.serial}")
        with open(path, "w") as file:
            file.write(f"correct horse battery staple {self.serial}\n")
        return path

    @property
    def of_creation(self) -> list[str]:
        return ["--encrypt", "--passphrase-file", self.may_be[0], "--recovery-file", self.recovery]

    def unlocked_by(self, command: list[str]) -> str:
        """What the command prints with the passphrase in effect, of which all others that may have been are refused."""
        opened, refused = [], []
        for path in self.may_be:
            result = subprocess.run(
                [*command, "--passphrase-file", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120
            )
            text = result.stdout.decode("utf-8", "replace")
            if result.returncode == 0:
                opened.append((path, text))
            else:
                refused.append((path, text))
                if "passphrase or recovery code is wrong" not in text:
                    raise AssertionError(f"{command} with {path}: {text}")
        if len(opened) != 1:
            raise AssertionError(f"of {self.may_be}, {[path for path, _ in opened]} open the container: {refused}")
        self.may_be = [opened[0][0]]
        return opened[0][1]


class KeyChanges(Program):
    """Changes the keys again and again until the daemon is gone."""

    def __init__(self, device: Device, keys: Keys, rng: random.Random) -> None:
        super().__init__(device)
        self.keys, self.random = keys, rng
        self.acknowledged = 0

    def step(self) -> None:
        if self.device.killed.wait(self.random.uniform(0, LONGEST_PAUSE_SECONDS)):
            self.stopping.set()
        else:
            self.change()

    def change(self) -> None:
        if self.random.random() < 0.5:
            code, said = self.device.run("key", "rotate", self.device.point, check=False)
        else:
            new = self.keys.another()
            self.keys.may_be.append(new)
            # The recovery code is the same all the time, whatever the passphrase is by now.
            code, said = self.device.run(
                "key", "passphrase", self.device.url, "--passphrase-file", self.keys.recovery, "--new-passphrase-file",
                new, check=False,
            )  # fmt: skip
            if code == 0:
                self.keys.may_be = [new]
        if code == 0:
            self.acknowledged += 1
        elif not self.device.killed.wait(0.5):
            raise AssertionError(f"a change of the keys failed: exit status {code}: {said}")
