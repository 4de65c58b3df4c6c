import Linux
import Testing

@testable import Mount

@Suite struct AnnouncementOrderTests {
    private static let orders = [
        AnnouncementOrder(.verify, []), AnnouncementOrder(.touch, [Array("é".utf8)]),
        AnnouncementOrder(.move, [[0x61], [0x62, 0xff]], to: [Array(repeating: 0x63, count: 255)]),
    ]

    @Test(arguments: orders) func `an order is read as it was written`(order: AnnouncementOrder) {
        let bytes = order.bytes
        #expect(bytes.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) } == bytes.count - 4)
        #expect(AnnouncementOrder(Array(bytes.dropFirst(4))) == order)
    }

    @Test func `what is no order is refused`() {
        for order in Self.orders {
            let body = Array(order.bytes.dropFirst(4))
            for count in 0..<body.count { #expect(AnnouncementOrder(Array(body.prefix(count))) == nil) }
            #expect(AnnouncementOrder(body + [0]) == nil)
        }
        #expect(AnnouncementOrder([99] + Array(repeating: 0, count: 8)) == nil)
    }

    @Test func `the helper is only started with a mountpoint, a device and a name`() {
        #expect(AnnouncementHelper([]) == nil)
        #expect(AnnouncementHelper(["/mnt", "one", "name"]) == nil)
        #expect(AnnouncementHelper(["/mnt", "40", "name"]) != nil)
    }

    @Test func `watches are read from what proc says of inotify and fanotify`() {
        var watches = FileWatches()
        let device: UInt64 = 0x31
        watches.add("inotify wd:2 ino:7ef82a sdev:31 mask:800afff ignored_mask:0 fhandle-bytes:8\n", onDevice: device)
        watches.add("inotify wd:1 ino:1 sdev:800013 mask:fce ignored_mask:0\n", onDevice: device)
        watches.add("pos:\t0\n", onDevice: device)
        watches.add("fanotify ino:4f969 sdev:31 mflags:0 mask:3b ignored_mask:40000000\n", onDevice: device)
        watches.add("inotify wd:1 ino:zz sdev:31x\n", onDevice: device)
        #expect(watches.inodes == [0x7ef82a, 0x4f969])
        #expect(!watches.coversAll && watches.covers(0x4f969) && !watches.covers(1))
        watches.add("fanotify sdev:31 mflags:0 mask:3b ignored_mask:0\n", onDevice: device)
        #expect(watches.covers(1))
    }
}
