"""What a store does, row by row: the numbers are those of the page Encryption.

A row yields cases. Each is one change of a store; what comes of it is judged for each kind of device, and the worst
counts. Files and places in them are drawn from the seed; keys and salts are those that the systems draw.
"""

import dataclasses
import functools
import itertools
import os
import random
from collections.abc import Callable, Iterator

from benchmark.machine import Failure

from . import store
from .system import System
from .tree import CHANGED, Tree

KNOWING, NEW = "a device that knows", "a new device"
# How many objects or files an attack is repeated on.
REPEATS = 3
APPENDED_BYTES = 100
# Files with several segments in every system that has segments.
LARGE = ["movies/large.bin", "twins/left.bin", "twins/right.bin"]


@dataclasses.dataclass
class Scene:
    """A filled container, an older copy of its store, and two other containers.

    `objects` and `older_objects`: the objects that a file got when it was written last, and the time before.
    `kin` is another container with the same secrets and files of the same paths and lengths; `stranger` one with a
    passphrase that only the store's holder knows.
    """

    system: System
    seed: str
    current: Tree
    older: Tree
    objects: dict[str, list[str]]
    older_objects: dict[str, list[str]]
    older_store: str
    kin_store: str
    kin_objects: dict[str, list[str]]
    stranger_store: str
    pristine: str = ""
    # The device that saw the older state and the current one.
    witness: int | None = None

    def source(self, purpose: str) -> random.Random:
        return random.Random(f"{self.seed} {purpose}")

    def data(self, path: str) -> list[str]:
        """The objects with the bytes of a file."""
        return data_objects(self.system, self.pristine, self.objects[path], len(self.current[path]))

    def older_data(self, path: str) -> list[str]:
        return data_objects(self.system, self.older_store, self.older_objects[path], len(self.older[path]))

    def kin_data(self, path: str) -> list[str]:
        return data_objects(self.system, self.kin_store, self.kin_objects[path], len(self.current[path]))

    def of_kind(self, kind: str) -> list[str]:
        return [key for key in sorted(store.keys(self.pristine)) if self.system.kind(key) == kind]


@dataclasses.dataclass(frozen=True)
class Case:
    what: str
    edit: Callable[[str], None]
    # The devices that it is for.
    devices: tuple[str, ...] = (KNOWING, NEW)


@dataclasses.dataclass(frozen=True)
class Row:
    key: str
    title: str
    cases: Callable[[Scene], Iterator[Case]]


def data_objects(system: System, place: str, keys: list[str], length: int) -> list[str]:
    """Those of a file's objects that have its bytes, which do not compress; the largest first."""
    found = [key for key in keys if system.kind(key) == "data" and os.path.exists(os.path.join(place, key))]
    found.sort(key=lambda key: -store.length(place, key))
    # With them may stand smaller ones that say where the bytes are.
    count = sum(store.length(place, key) for key in found)
    while len(found) > 1 and count - store.length(place, found[-1]) >= length:
        count -= store.length(place, found.pop())
    return found


def segments(scene: Scene, key: str) -> tuple[int, int]:
    """Where the segments of an object begin, and how long each is; where there are none, a part of it stands for one."""
    size = store.length(scene.pristine, key)
    if scene.system.segment and size >= scene.system.header + 2 * scene.system.segment:
        return scene.system.header, scene.system.segment
    return size // 4, size // 4


def victims(scene: Scene, purpose: str) -> list[str]:
    """Files whose bytes are attacked."""
    return scene.source(purpose).sample(sorted([*CHANGED, "movies/large.bin"]), REPEATS)


def in_data(change: str) -> Callable[[Scene], Iterator[Case]]:
    """Changes objects with bytes of files."""

    def cases(scene: Scene) -> Iterator[Case]:
        for path in victims(scene, f"{change} data"):
            key = scene.data(path)[0]
            start, count = segments(scene, key)
            seed = f"{scene.seed} {change} {path}"
            if change == "flip":
                yield Case(f"a bit of {path}", functools.partial(store.flip, key=key, seed=seed))
                yield Case(f"zeros in {path}", functools.partial(store.zero, key=key, offset=start, count=count))
            elif change == "cut":
                yield Case(
                    f"{path} after its first segment", functools.partial(store.cut, key=key, count=start + count)
                )
                yield Case(f"the last byte of {path}", functools.partial(store.cut, key=key, count=-1))
            else:
                more = store.read(scene.pristine, key)[start : start + count]
                yield Case(f"a segment of {path} again", functools.partial(store.append, key=key, more=more))
                noise = random.Random(seed).randbytes(APPENDED_BYTES)
                yield Case(f"anything to {path}", functools.partial(store.append, key=key, more=noise))

    return cases


def change_object(place: str, key: str, change: str, seed: str) -> None:
    if change == "flip":
        store.flip(place, key, seed)
    elif change == "cut":
        store.cut(place, key, random.Random(seed).randrange(store.length(place, key)))
    else:
        store.append(place, key, random.Random(seed).randbytes(APPENDED_BYTES))


def change_name(place: str, key: str, change: str, seed: str) -> None:
    name = os.path.basename(key)
    others = {"flip": store.flipped_name(key, seed), "cut": name[:-1], "append": name + name[-1]}
    store.rename(place, key, others[change])


def in_metadata(change: str) -> Callable[[Scene], Iterator[Case]]:
    """Changes objects that say what files there are, what keys there are, and names."""

    def cases(scene: Scene) -> Iterator[Case]:
        for kind in ("metadata", "config"):
            keys = [key for key in scene.of_kind(kind) if store.length(scene.pristine, key)]
            chosen = scene.source(f"{change} {kind}").sample(keys, min(REPEATS, len(keys)))
            for number, key in enumerate(chosen):
                seed = f"{scene.seed} {change} {kind} {number}"
                yield Case(key, functools.partial(change_object, key=key, change=change, seed=seed))
        if scene.system.has_names():
            for path in victims(scene, f"{change} names"):
                key = scene.data(path)[0]
                edit = functools.partial(change_name, key=key, change=change, seed=f"{scene.seed} {change} {path}")
                yield Case(f"the name of {path}", edit)

    return cases


def segments_exchanged(scene: Scene) -> Iterator[Case]:
    """Exchanges two segments in an object, and two objects of a file that has several."""
    for path in LARGE:
        key = scene.data(path)[0]
        start, count = segments(scene, key)
        edit = functools.partial(store.exchange_parts, key=key, one=start, other=start + count, count=count)
        yield Case(f"two segments of {path}", edit)
    if len(objects := scene.data(LARGE[0])) > 1:
        pairs = itertools.combinations(objects, 2)
        alike = [pair for pair in pairs if len({store.length(scene.pristine, key) for key in pair}) == 1]
        if not alike:
            raise Failure(f"the objects of {LARGE[0]} have all different lengths")
        for one, other in alike[:REPEATS]:
            yield Case(f"two objects of {LARGE[0]}", functools.partial(store.exchange, one=one, other=other))


def files_exchanged(scene: Scene) -> Iterator[Case]:
    one, other = scene.data("twins/left.bin")[0], scene.data("twins/right.bin")[0]
    yield Case("the objects of two files", functools.partial(store.exchange, one=one, other=other))
    start, count = segments(scene, one)
    donor = store.read(scene.pristine, other)
    edit = functools.partial(store.transplant, key=one, donor=donor, offset=start, count=count)
    yield Case("a segment of another file", edit)
    notes, ledger = scene.data("documents/notes.txt")[0], scene.data("documents/ledger.csv")[0]
    yield Case("the objects of two files of other lengths", functools.partial(store.exchange, one=notes, other=ledger))


def containers_mixed(scene: Scene) -> Iterator[Case]:
    """Takes objects of another container of the same user."""
    for path in victims(scene, "kin"):
        donor = store.read(scene.kin_store, scene.kin_data(path)[0])
        edit = functools.partial(store.write, key=scene.data(path)[0], data=donor)
        yield Case(f"{path} of another container", edit)


def replayed(scene: Scene) -> Iterator[Case]:
    """Shows old bytes under the key where the new ones are."""
    for path in CHANGED:
        key = scene.data(path)[0]
        donor = store.read(scene.older_store, scene.older_data(path)[0])
        yield Case(f"{path} as it was", functools.partial(store.write, key=key, data=donor))
        start, count = segments(scene, key)
        edit = functools.partial(store.transplant, key=key, donor=donor, offset=start, count=count)
        yield Case(f"a segment of {path} as it was", edit)


def rolled_back(scene: Scene) -> Iterator[Case]:
    # A device that remembers nothing looks at nothing but the store, as a new one does.
    devices = (KNOWING,) if scene.system.has_witnesses else (NEW,)
    yield Case("the whole store", functools.partial(store.replace, other=scene.older_store), devices)


def rolled_back_for_a_new_device(scene: Scene) -> Iterator[Case]:
    yield Case("the whole store", functools.partial(store.replace, other=scene.older_store), (NEW,))


def deleted(scene: Scene) -> Iterator[Case]:
    def delete(place: str, keys: list[str]) -> None:
        for key in keys:
            store.remove(place, key)

    for path in victims(scene, "delete"):
        yield Case(f"the bytes of {path}", functools.partial(delete, keys=scene.data(path)))
    yield Case("all data", functools.partial(delete, keys=scene.of_kind("data")))
    if metadata := scene.of_kind("metadata"):
        yield Case("all metadata", functools.partial(delete, keys=metadata))
        last = scene.objects["documents/added.txt"]
        newest = [key for key in last if scene.system.kind(key) == "metadata"]
        if newest:
            yield Case("the newest metadata", functools.partial(delete, keys=newest))


def strangers_keys(scene: Scene) -> Iterator[Case]:
    """Puts what another passphrase opens in the place of what there is."""

    def put(place: str, pairs: list[tuple[str, str]]) -> None:
        for key, other in pairs:
            store.write(place, key, store.read(scene.stranger_store, other))

    def put_all(place: str, mine: list[str], others: list[str]) -> None:
        for key in mine:
            store.remove(place, key)
        put(place, [(key, key) for key in others])

    mine = scene.of_kind("config")
    others = sorted(key for key in store.keys(scene.stranger_store) if scene.system.kind(key) == "config")
    for key, other in zip(mine, others):
        yield Case(f"{key} of another", functools.partial(put, pairs=[(key, other)]))
    if mine:
        yield Case("all that opens it", functools.partial(put_all, mine=mine, others=others))
    yield Case("the whole store", functools.partial(store.replace, other=scene.stranger_store))


def lowered(scene: Scene) -> Iterator[Case]:
    for name, edit in scene.system.lowered().items():
        yield Case(name, edit)


def plain_data(scene: Scene) -> Iterator[Case]:
    """Puts bytes that nobody has encrypted under a key."""
    for path in victims(scene, "plain"):
        data = scene.source(f"plain {path}").randbytes(len(scene.current[path]))
        yield Case(f"{path} in plain text", functools.partial(store.write, key=scene.data(path)[0], data=data))


ROWS = [
    Row("1-data", "1 flips a bit, zeroes a segment: data", in_data("flip")),
    Row("1-metadata", "1 flips a bit: metadata, keys, names", in_metadata("flip")),
    Row("2-data", "2 cuts: data", in_data("cut")),
    Row("2-metadata", "2 cuts: metadata, keys, names", in_metadata("cut")),
    Row("3-data", "3 appends: data", in_data("append")),
    Row("3-metadata", "3 appends: metadata, keys, names", in_metadata("append")),
    Row("4", "4 exchanges segments, or objects, of one file", segments_exchanged),
    Row("5", "5 exchanges objects of two files", files_exchanged),
    Row("6", "6 takes an object of the user's other container", containers_mixed),
    Row("7", "7 shows an old version of an object, or of a segment", replayed),
    Row("8", "8 shows an older state to a device that knows", rolled_back),
    Row("9", "9 shows an older state to a new device", rolled_back_for_a_new_device),
    Row("12-13", "12, 13 deletes objects", deleted),
    Row("14", "14 exchanges the keys, or all, for a stranger's", strangers_keys),
    Row("15", "15 lowers parameters, or the format", lowered),
    Row("16", "16 puts plain bytes in the place of an object", plain_data),
]
