import Control
import ControlAPI
import Glibc
import Model
import TestStores
import Testing

@testable import FileSystem
@testable import Sync

/// What is not used for long is evicted, and what was used lately is kept.
@Suite(.virtualTime) struct UseRuleTests {
    private static let day = Duration.seconds(86_400)

    private func options(_ limits: CacheLimits) -> FileSystemOptions {
        var options = FileSystemOptions()
        options.cacheLimits = limits
        return options
    }

    /// A device with these local and uploaded files.
    private func device(
        _ limits: CacheLimits, _ time: TestTime, _ names: String..., state: String? = nil, store: MemoryStore
    ) async throws -> TestDevice {
        let device = try await TestDevice.start(
            on: store, name: "A", state: state, options: options(limits), time: time)
        for name in names { try await device.write(String(repeating: name, count: 5000), to: name) }
        try await device.control.sync.sync(wait: true)
        return device
    }

    private func local(_ device: TestDevice, _ names: String...) throws -> [String] {
        try names.filter { try ReasonsRequest(path: $0).perform(in: device.control).isLocal }
    }

    /// Lets the clock of the wall jump, and the evictor look.
    private func jump(_ time: TestTime, _ duration: Duration) async throws {
        // A device that was just started has begun: it notes when.
        try await pass(.seconds(1))
        time.jumpWall(by: duration)
        time.jump(by: .seconds(3700))
        try await pass(.seconds(65))
    }

    @Test func `what is not opened for as long as the rule says is evicted, but not what is pinned, open or changed`()
        async throws
    {
        let time = TestTime()
        let device = try await device(
            CacheLimits(evictAfter: Self.day * 30), time, "old", "used", "pinned", "open", "changed",
            store: MemoryStore())
        _ = try PinRequest(path: "pinned", pinned: true).perform(in: device.control)
        let handle = try await device.open("open", O_RDONLY)
        try await jump(time, Self.day * 20)
        #expect(try local(device, "old", "used", "pinned", "open", "changed").count == 5)
        _ = try await device.read("used")
        try await jump(time, Self.day * 9)
        #expect(try local(device, "old", "used") == ["old", "used"])
        _ = try PauseRequest(path: "", paused: true).perform(in: device.control)
        try await device.write("new", to: "changed")
        try await jump(time, Self.day * 2)
        #expect(try local(device, "old", "used", "pinned", "open", "changed") == ["used", "pinned", "open", "changed"])
        // Its bytes are in the container, and the next read downloads them.
        #expect(try await device.read("old").hasPrefix("oldold"))
        #expect(try await holds { try local(device, "old") == ["old"] })
        device.fileSystem.release(handle, flockOwner: nil, by: TestDevice.caller)
        try await jump(time, Self.day * 19)
        #expect(try local(device, "old", "used", "open") == ["old", "open"], "closed nineteen days ago")
        try await device.close()
    }

    @Test func `the rule counts from the first mount with it, since nobody noted the uses before`() async throws {
        let time = TestTime()
        let store = MemoryStore()
        let first = try await device(CacheLimits(), time, "daily", store: store)
        for _ in 0..<4 {
            time.jumpWall(by: Self.day * 10)
            _ = try await first.read("daily")
        }
        try await first.close()
        let second = try await device(
            CacheLimits(evictAfter: Self.day * 30), time, state: first.state, store: store)
        try await jump(time, Self.day)
        #expect(try local(second, "daily") == ["daily"])
        try await second.close()
        // A mount without limits in between: then uses were missed again.
        let third = try await device(CacheLimits(), time, state: first.state, store: store)
        try await jump(time, Self.day * 40)
        try await third.close()
        let fourth = try await device(
            CacheLimits(evictAfter: Self.day * 30), time, state: first.state, store: store)
        try await jump(time, Self.day * 29)
        #expect(try local(fourth, "daily") == ["daily"])
        try await jump(time, Self.day * 2)
        #expect(try local(fourth, "daily") == [])
        try await fourth.close()
    }

    @Test func `a limit leaves what was used lately, and why says which rule keeps what`() async throws {
        let time = TestTime()
        let device = try await device(
            CacheLimits(byteLimit: 1, evictAfter: Self.day * 30, keepRecent: Self.day * 7), time, "new",
            store: MemoryStore())
        try await jump(time, .zero)
        #expect(try local(device, "new") == ["new"])
        #expect(try device.fileSystem.cacheStatus().lastRound?.blockedBy == ["recent": 1])
        let because = try ReasonsRequest(path: "new").perform(in: device.control).localBecause
        #expect(because.count == 3, "\(because)")
        #expect(because[1].hasPrefix("used lately: the limits of the cache leave it until 2"))
        #expect(because[2].hasPrefix("evicted if it is not used until 2") && because[2].hasSuffix("(evict_after)"))
        try await jump(time, Self.day * 8)
        #expect(try local(device, "new") == [])
        #expect(try ReasonsRequest(path: "new").perform(in: device.control).localBecause == [])
        try await device.close()
    }

    @Test func `a clock that is set back evicts nothing`() async throws {
        let time = TestTime()
        let device = try await device(
            CacheLimits(evictAfter: Self.day * 30), time, "file", store: MemoryStore())
        try await jump(time, Self.day * 20)
        try await jump(time, .zero - Self.day * 1000)
        #expect(try local(device, "file") == ["file"])
        try await jump(time, Self.day * 1005)
        #expect(try local(device, "file") == ["file"])
        try await jump(time, Self.day * 10)
        #expect(try local(device, "file") == [])
        try await device.close()
    }
}
