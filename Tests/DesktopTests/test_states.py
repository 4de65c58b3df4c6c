import unittest
from typing import Any

from dewpoint_desktop import actions
from dewpoint_desktop.following import Shown
from dewpoint_desktop.states import State, state, words

from .daemon import status


class StateTests(unittest.TestCase):
    def test_an_item_has_the_state_that_matters_most(self) -> None:
        fault = {"code": 4354, "text": "the store is full"}
        local = {"downloadingStatus": "Current"}
        cases: list[tuple[dict[str, Any], State, str]] = [
            ({}, State.CLOUD, "In the cloud"),
            (local, State.LOCAL, "On this device"),
            ({**local, "pinned": True}, State.PINNED, "Kept on this device"),
            ({"pinned": True, "isDownloading": True, "percentDownloaded": 41.7}, State.DOWNLOADING, "Downloading 41 %"),
            ({"isDownloading": True, "percentDownloaded": 0}, State.DOWNLOADING, "Downloading"),
            ({**local, "isUploaded": False}, State.UPLOADING, "Waiting to upload"),
            (
                {**local, "isUploaded": False, "isUploading": True, "percentUploaded": 7},
                State.UPLOADING,
                "Uploading 7 %",
            ),
            ({**local, "isUploaded": False, "isSyncPaused": True}, State.PAUSED, "Sync paused"),
            ({**local, "isUploaded": False, "uploadingError": fault}, State.ERROR, "Error: the store is full"),
            ({"downloadingError": fault, "conflictCount": 2}, State.CONFLICT, "Conflict (2 versions)"),
            ({"conflictCount": 1}, State.CONFLICT, "Conflict"),
            ({"isUbiquitousItem": False}, State.UNSYNCED, "Not synced"),
            ({"kind": "directory", "downloadingStatus": "Current"}, State.UNSYNCED, ""),
            ({"kind": "directory", "pinned": True}, State.PINNED, "Kept on this device"),
        ]
        for values, expected, text in cases:
            with self.subTest(values=values):
                self.assertEqual((state(status("a", **values)), words(status("a", **values))), (expected, text))


class ActionTests(unittest.TestCase):
    def names(self, *items: dict[str, Any] | None) -> list[str]:
        return [
            action.name
            for action in actions.offered([None if item is None else Shown.of(status("a", **item)) for item in items])
        ]

    def test_the_menu_offers_what_can_be_done(self) -> None:
        local = {"downloadingStatus": "Current"}
        self.assertEqual(self.names({}), ["pin", "download", "versions"])
        self.assertEqual(self.names(local), ["pin", "evict", "versions"])
        self.assertEqual(self.names({**local, "pinned": True}), ["unpin", "versions"])
        self.assertEqual(self.names({}, local), ["pin", "download", "evict"])
        self.assertEqual(self.names({"kind": "directory"}), ["pin", "download", "evict"])
        self.assertEqual(self.names({"isUbiquitousItem": False}), [])
        self.assertEqual(self.names(None), ["pin", "download", "evict"])
        self.assertEqual(self.names(*[{}] * 1001), [])
        self.assertEqual(actions.offered([Shown.of(status("a", conflictCount=1))])[-1].label, "_Resolve Conflict…")
