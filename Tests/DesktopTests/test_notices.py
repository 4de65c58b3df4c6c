import unittest

from dewpoint_desktop.notices import QUIET_SECONDS, REMINDER_SECONDS, Notices


class NoticeTests(unittest.TestCase):
    def setUp(self) -> None:
        self.notices, self.now = Notices(), 1000.0

    def due(self, seconds: float = 0, **status: object) -> list[tuple[str, str]]:
        self.now += seconds
        return [
            (notice.title, notice.body) for notice in self.notices.status("/mnt", {"name": "Work", **status}, self.now)
        ]

    def test_a_storm_of_conflicts_is_two_notifications(self) -> None:
        self.notices.conflict("/mnt", "a.txt")
        self.assertEqual(
            self.due(), [("Conflict in Work", "a.txt was changed on two devices. Both versions are kept; choose one.")]
        )
        for number in range(500):
            self.notices.conflict("/mnt", f"{number}.txt")
            self.assertEqual(self.due(seconds=1), [])
        self.notices.resolved("/mnt", "0.txt")
        self.assertEqual(
            self.due(seconds=QUIET_SECONDS),
            [("Conflicts in Work", "499 files were changed on two devices: 1.txt, 2.txt, 3.txt and 496 more. All versions are kept.")],
        )  # fmt: skip
        self.assertEqual(self.due(seconds=QUIET_SECONDS), [])

    def test_what_a_move_takes_from_the_other_devices_is_named(self) -> None:
        self.notices.departed("/mnt", "report.nosync")
        self.notices.departed("/mnt", "back again")
        self.notices.returned("/mnt", "back again")
        ((title, body),) = self.due()
        self.assertEqual(title, "No longer synced in Work")
        self.assertTrue(
            body.startswith("Moved to where nothing is synced: report.nosync. What was moved stays on this device")
        )
        self.assertEqual(self.due(seconds=QUIET_SECONDS), [])

    def test_what_blocks_sync_is_said_once_and_again_after_a_day(self) -> None:
        refused = "the access key AKIA is not known; check the key"
        self.assertEqual(
            self.due(problem=refused), [("Work does not sync", "The access key AKIA is not known; check the key")]
        )
        self.assertEqual(self.due(problem=refused, seconds=3600), [])
        self.assertEqual(len(self.due(problem=refused, seconds=REMINDER_SECONDS)), 1)
        # Another one, once the first has been on the screen for a while.
        self.assertEqual(self.due(problem="the store has no room for 12 bytes"), [])
        self.assertEqual(len(self.due(problem="the store has no room for 13 bytes", seconds=QUIET_SECONDS)), 1)
        # That comes and goes.
        for _ in range(10):
            self.assertEqual(self.due(problem=None, seconds=10), [])
            self.assertEqual(self.due(problem="the store has no room for 13 bytes", seconds=10), [])

    def test_a_missing_network_is_no_news(self) -> None:
        problem = "fetching remote changes failed, retrying: no answer in time"
        self.assertEqual(self.due(problem=problem, store="unreachable"), [])
        self.assertEqual(self.due(problem=problem, store="failing"), [])
        self.assertEqual(len(self.due(problem=problem, store="reachable")), 1)

    def test_held_deletions_are_one_notification_that_says_what_to_do(self) -> None:
        (notice,) = self.due(heldDeletionCount=4000, problem="4000 deletions are held", mountpoint="/mnt/work")
        self.assertEqual(notice[0], "Much was deleted in Work")
        self.assertIn("dewpoint confirm --discard /mnt/work", notice[1])
        self.assertEqual(self.due(heldDeletionCount=4001, seconds=60), [])

    def test_devices_that_are_overdue_are_named_once(self) -> None:
        (notice,) = self.due(overdue=[{"name": "laptop"}, {"name": "desk"}])
        self.assertEqual(notice[0], "Nothing new in Work")
        self.assertIn("desk, laptop promised to commit", notice[1])
        self.assertEqual(self.due(overdue=[{"name": "laptop"}, {"name": "desk"}], seconds=60), [])
        self.assertEqual(self.due(overdue=[]), [])
