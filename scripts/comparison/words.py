"""What arguments are made of: few values, near each other and at the edges of pages, so that steps meet."""

from . import scene

# Among them two spellings of one text, and names that begin with a combining mark, a joiner and U+FEFF.
NEW = ["n", "m", "d/n", "d/g/n", "w/n", "w/m", "caf\u00e9", "cafe\u0301", "d/\u0301n", "w/\u200d", "\ufeffn"]
TARGETS = ["a", "d/e", "nowhere", "../a", "caf\u00e9", "cafe\u0301", "d/\u0301n", "\ufeffn"]
OFFSETS = [0, 0, 0, 1, 99, 100, 4095, 4096, 5000, 8192, 65536, 69_999, 70_000, 131_072, 200_000]
COUNTS = [1, 10, 100, 4096, 5000, 8192, 40_000, 65_536, 131_072]
MODES = [0o600, 0o644, 0o666, 0o640, 0o755, 0o444, 0o4755, 0o2755, 0o6755, 0o2644, 0o1777, 0o2775]
GIVEN = [0, 1, scene.USER, 64999, -1]
SLOTS, MAPS = range(3), range(2)
LOCKS = ["read", "write", "unlock"]
TIMES = [10**18, 1_234_567_890_123_456_789, 0, 2 * 10**18 + 1]
NAMES = ["user.one", "user.two", "user.three", "user.k\u00e9", "user.ke\u0301", "user.\u0301"]
