import Model
import Testing

@testable import Ubiquity

@Suite struct FollowedItemsTests {
    /// What is known after some updates, by number.
    private static func known(_ changes: [FollowedItems.Change]) -> [Int: String] {
        var known: [Int: String] = [:]
        for change in changes {
            switch change {
            case .present(let key, let status): known[key.number] = status.path
            case .gone(let key): known[key.number] = nil
            }
        }
        return known
    }

    @Test func `an item keeps its identity when it changes, and when it is moved`() {
        var items = FollowedItems(source: 0)
        var changes = items.apply(.item(.sample("a", item: .sample(1))))
        changes += items.apply(.item(.sample("a", item: .sample(1), size: 2)))
        changes += items.apply(.moved(from: "a", .sample("b", item: .sample(1), size: 2)))
        changes += items.apply(.item(.sample("a", item: .sample(2))))
        #expect(changes.count == 4)
        #expect(Self.known(changes) == [1: "b", 2: "a"])
    }

    @Test func `an update without a difference is no change`() {
        var items = FollowedItems(source: 0)
        _ = items.apply(.item(.sample("a")))
        #expect(items.apply(.item(.sample("a"))).isEmpty)
    }

    @Test func `an item without an id is identified by its path, and one with another id is another item`() {
        var items = FollowedItems(source: 0)
        var changes = items.apply(.item(.sample("a")))
        changes += items.apply(.item(.sample("a", item: .sample(1))))
        #expect(Self.known(changes) == [1: "a"])
        changes += items.apply(.item(.sample("a", item: .sample(2))))
        #expect(Self.known(changes) == [2: "a"])
    }

    @Test func `a directory is moved and removed with everything in it`() {
        var items = FollowedItems(source: 0)
        var changes: [FollowedItems.Change] = []
        for status in [
            ItemStatus.sample("d", kind: .directory, item: .sample(1)), .sample("d/a", item: .sample(2)),
            .sample("d/e", kind: .directory, item: .sample(3)), .sample("d/e/b", item: .sample(4)),
            .sample("dx", item: .sample(5)),
        ] { changes += items.apply(.item(status)) }
        changes += items.apply(.moved(from: "d", .sample("f", kind: .directory, item: .sample(1))))
        #expect(Self.known(changes) == [1: "f", 2: "f/a", 3: "f/e", 4: "f/e/b", 5: "dx"])
        changes += items.apply(.removed(path: "f/e"))
        #expect(Self.known(changes) == [1: "f", 2: "f/a", 5: "dx"])
    }

    @Test func `a move over another item removes that`() {
        var items = FollowedItems(source: 0)
        var changes = items.apply(.item(.sample("a", item: .sample(1))))
        changes += items.apply(.item(.sample("b", item: .sample(2))))
        changes += items.apply(.moved(from: "a", .sample("b", item: .sample(1))))
        #expect(Self.known(changes) == [1: "b"])
    }

    @Test func `names that differ only in their composition are different items`() {
        var items = FollowedItems(source: 0)
        let changes = items.apply(.item(.sample("\u{e9}"))) + items.apply(.item(.sample("e\u{301}")))
        #expect(Self.known(changes).count == 2)
    }

    @Test func `after a reconnection only the differences are changes`() {
        var items = FollowedItems(source: 3)
        let all = [ItemStatus.sample("a", item: .sample(1)), .sample("b", item: .sample(2)), .sample("c")]
        for status in all { _ = items.apply(.item(status)) }
        #expect(items.apply(.gathered(count: 3)).isEmpty)
        items.restart()
        var changes = items.apply(.item(all[0]))
        changes += items.apply(.item(.sample("d", item: .sample(2))))
        changes += items.apply(.gathered(count: 2))
        #expect(
            changes == [
                .present(.init(source: 3, number: 2), .sample("d", item: .sample(2))),
                .gone(.init(source: 3, number: 3)),
            ])
    }
}
