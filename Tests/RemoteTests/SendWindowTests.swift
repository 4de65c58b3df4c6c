import Testing

@testable import Remote

@Suite struct SendWindowTests {
    private static let pack = Pack.byteLimit

    /// Sends packs over a link, and returns the width after each of them.
    ///
    /// - Parameter packs: What the link carries in a second with so many packs at a time, in packs.
    private func widths(_ packCount: Int, window: SendWindow = SendWindow(), packs: (Int) -> Double) -> [Int] {
        var window = window
        return (0..<packCount).map { _ in
            let count = window.width
            window.sent(byteCount: Self.pack, within: .seconds(Double(count) / packs(count)), among: count)
            return window.width
        }
    }

    @Test func `where each connection is fast, eight packs are sent at a time after the first`() {
        #expect(widths(10) { Double($0) * 2.5 } == Array(repeating: 8, count: 10))
    }

    @Test func `where each connection is slow, the window grows as long as that makes sending faster`() {
        let widths = widths(200) { Double($0) * 0.05 }
        #expect(widths.first == 2 && widths.suffix(100).allSatisfy { $0 >= 7 })
        #expect(zip(widths, widths.dropFirst()).allSatisfy { $1 - $0 <= 1 })
    }

    @Test func `on a slow link that one connection fills it tries three now and then, and stays at two`() {
        let widths = widths(200) { _ in 0.5 }
        #expect(Set(widths) == [2, 3])
        #expect(widths.count { $0 == 3 } < 70)
    }

    @Test func `it stops where more connections make it no faster`() {
        let widths = widths(400) { Double(min($0, 4)) * 0.1 }
        #expect(widths.max() == 5)
        #expect(widths.suffix(200).count { $0 == 4 } > 120)
    }

    @Test func `what the link carries in two seconds is being sent at least`() {
        #expect(Set(widths(100) { _ in 2.5 }) == [5, 6])
    }

    @Test func `it follows a link that becomes slower, and is not misled by one slow pack`() {
        var window = SendWindow()
        window.sent(byteCount: Self.pack, within: .milliseconds(100), among: 2)
        #expect(window.width == 8)
        window.sent(byteCount: Self.pack, within: .seconds(10), among: 8)
        #expect(window.width == 8)
        #expect(widths(300, window: window) { _ in 0.5 }.suffix(50).allSatisfy { $0 <= 3 })
    }

    @Test func `nothing is learnt from packs that were sent while there was room for more`() {
        var window = SendWindow()
        for _ in 0..<100 { window.sent(byteCount: Self.pack, within: .seconds(10), among: 1) }
        #expect(window.width == 2)
    }

    @Test func `an empty pack and a time of zero teach nothing`() {
        var window = SendWindow()
        window.sent(byteCount: 0, within: .seconds(1), among: 2)
        window.sent(byteCount: 1, within: .zero, among: 2)
        #expect(window == SendWindow())
    }

    @Test func `a failure narrows it`() {
        var window = SendWindow()
        window.sent(byteCount: Self.pack, within: .milliseconds(100), among: 2)
        #expect(window.width == 8)
        window.fail()
        #expect(window == SendWindow())
    }

    @Test(arguments: [
        (1, 0, 0, true), (1, 1, 1, true), (1, 2, 2, false), (1 << 30, 0, 0, true),
        (16 << 20, 1, 64 << 20, true), (16 << 20, 1, (64 << 20) + 1, false),
    ]) func `it bounds the packs that are sent, and their bytes with the pack that is filled`(
        _ byteCount: Int, _ count: Int, _ sendingByteCount: Int, _ isAdmitted: Bool
    ) {
        #expect(
            SendWindow().admits(
                byteCount: byteCount, sending: (count, sendingByteCount), packByteLimit: 16 << 20) == isAdmitted)
    }
}
