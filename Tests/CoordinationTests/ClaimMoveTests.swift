import Coordination
import Model
import Testing

@Suite struct ClaimMoveTests {
    var stage = ClaimStage()

    @Test func `an item follows its own move and that of a directory above it`() {
        let target = plainFile(7, in: [root], "renamed")
        #expect(document.following(file, to: target) == target)
        let elsewhere = directory(20, in: [root, InodeNumber(40)], "moved")
        let expected = plainFile(
            22, in: [root, InodeNumber(40), InodeNumber(20), InodeNumber(21)], "deep")
        #expect(deepDocument.following(InodeNumber(20), to: elsewhere) == expected)
        #expect(stranger.following(InodeNumber(20), to: elsewhere) == stranger)
    }

    @Test func `an item gains and loses packages as it moves`() {
        let intoPackage = directory(
            21, in: [root, InodeNumber(30)], "inner", packages: [InodeNumber(30)])
        let moved = deepDocument.following(InodeNumber(21), to: intoPackage)
        #expect(moved.packages == [InodeNumber(30)])
        #expect(moved.relation(to: packageFile) == .same)
        let outOfPackage = directory(33, in: [root], "part.rtfd", packages: [InodeNumber(33)])
        let freed = nestedFile.following(InodeNumber(33), to: outOfPackage)
        #expect(freed.packages == [InodeNumber(33)])
        #expect(freed.relation(to: package) == .unrelated)
        let plain = directory(30, in: [root], "book")
        #expect(nestedFile.following(InodeNumber(30), to: plain).packages == [InodeNumber(33)])
        #expect(package.following(InodeNumber(30), to: plain).packages == [])
    }

    @Test mutating func `a claim follows its item when the item moves`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        let target = plainFile(7, in: [root], "renamed")
        #expect(stage.table.moved(file, to: target, now: .ms(1)) == [])
        try stage.hold(claims(2, [(.write(.forMoving), folder)]))
        #expect(try stage.request(claims(3, [(.read([]), target)])) == [])
        #expect(stage.release(1) == [.granted(3)])
    }

    @Test mutating func `a move out of a claimed directory grants a waiting claim`() throws {
        try stage.hold(claims(1, [(.write(.forMoving), folder)]))
        #expect(try stage.request(claims(2, [(.read([]), document)])) == [])
        let effects = stage.table.moved(file, to: plainFile(7, in: [root], "out"), now: .ms(1))
        #expect(stage.converge(effects) == [.granted(2)])
    }

    @Test mutating func `a claim for replacing stays with the path`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        #expect(try stage.request(claims(2, [(.write(.forReplacing), document)])) == [])
        #expect(try stage.request(claims(3, [(.write(.plain), document)])) == [])
        // Once the item has moved away, no earlier claim conflicts with the claim for replacing.
        let target = plainFile(7, in: [root], "renamed")
        #expect(stage.converge(stage.table.moved(file, to: target, now: .ms(1))) == [.granted(2)])
        #expect(stage.release(1) == [.granted(3)])
    }

    @Test mutating func `a claim passes to the file that replaced its item`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        let saved = plainFile(50, in: document.ancestors, "document")
        #expect(stage.table.moved(InodeNumber(50), to: saved, replacing: file, now: .ms(1)) == [])
        #expect(try stage.request(claims(2, [(.write(.plain), saved)])) == [])
        // The old bytes, which a process may still have open, are no longer claimed.
        stage.whereabouts[file] = nil
        #expect(stage.write(by: ann) == .proceed)
    }

    @Test mutating func `a claim on another name of a replaced file stays with that name`() throws {
        let other = plainFile(document.inode?.rawValue, in: [root], "other")
        try stage.hold(claims(1, [(.write(.plain), other)]))
        let saved = plainFile(50, in: document.ancestors, "document")
        #expect(stage.table.moved(InodeNumber(50), to: saved, replacing: document.inode, now: .ms(1)) == [])
        #expect(stage.table.claimSet(ClaimSetID(1))?.claims.map(\.item) == [other])
        // A claim follows its item to its new bytes, wherever they are.
        #expect(
            stage.table.moved(InodeNumber(51), to: saved, replacing: document.inode, isSameItem: true, now: .ms(1))
                == [])
        #expect(stage.table.claimSet(ClaimSetID(1))?.claims.map(\.item) == [saved])
    }

    @Test mutating func `a claim on a hard link stays with it when another link is moved or removed`() throws {
        let other = plainFile(file.rawValue, in: [root], "other")
        try stage.hold(claims(1, [(.write(.plain), other)]))
        try stage.hold(claims(2, [(.read([]), stranger)]))
        func item() -> ClaimItem? { stage.table.claimSet(ClaimSetID(1))?.claims.first?.item }
        // Another name is renamed.
        let renamed = plainFile(file.rawValue, in: [root], "renamed")
        #expect(stage.table.moved(file, to: renamed, names: [other, renamed], now: .ms(1)) == [])
        #expect(item() == other)
        // The renamed link gets its own bytes.
        let separate = plainFile(70, in: [root], "renamed")
        #expect(
            stage.table.moved(
                InodeNumber(70), to: separate, replacing: file, isSameItem: true, names: [separate, other], now: .ms(1))
                == [])
        #expect(item() == other)
        // Newer bytes of all names arrive.
        let (newer, third) = (plainFile(71, in: [root], "other"), plainFile(71, in: [root], "third"))
        #expect(
            stage.table.moved(
                InodeNumber(71), to: third, replacing: file, isSameItem: true, names: [third, newer], now: .ms(1))
                == [])
        #expect(item() == newer)
        // Another name is removed, and then the claimed one.
        #expect(stage.table.disappeared(InodeNumber(71), names: [newer], now: .ms(1)) == [])
        #expect(item() == newer)
        #expect(stage.table.disappeared(InodeNumber(71), names: [third], now: .ms(1)) == [])
        #expect(item() == plainFile(nil, in: [root], "other"))
    }

    @Test mutating func `a claim on a name applies to an item created there`() throws {
        let place = plainFile(nil, in: [root], "new")
        try stage.hold(claims(1, [(.write(.forReplacing), place)]))
        let created = plainFile(60, in: [root], "new")
        #expect(stage.table.appeared(created, now: .ms(1)) == [])
        #expect(try stage.request(claims(2, [(.read([]), created)])) == [])
        // After the deletion, the claim is on the name again.
        #expect(stage.table.disappeared(InodeNumber(60), now: .ms(2)) == [])
        #expect(try stage.request(claims(3, [(.read([]), place)])) == [])
        #expect(stage.release(1).granted == [2, 3])
    }
}
