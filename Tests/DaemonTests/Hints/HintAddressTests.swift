import Model
import Testing

@testable import Daemon

@Suite struct HintAddressTests {
    @Test(arguments: [
        ("desk", "desk", 28_771), ("desk.example:1", "desk.example", 1), ("192.0.2.1:65535", "192.0.2.1", 65_535),
        ("[2001:db8::1]:99", "2001:db8::1", 99), ("[::1]", "::1", 28_771),
    ])
    func `a host, with or without a port`(text: String, host: String, port: Int) {
        let address = HintAddress(text)
        #expect(address?.host == host && address?.port == port)
    }

    @Test(arguments: [
        "", ":1", "desk:", "desk:0", "desk:65536", "desk:-1", "desk:+1", "desk:1:2", "[::1", "[]:1", "[::1]1", "de sk",
        "ü",
        "http://desk", "a@b", "::1", String(repeating: "a", count: 254),
    ])
    func `anything else is refused with what to write`(text: String) {
        #expect(HintAddress(text) == nil)
        #expect(throws: DaemonOptions.Problem.self) { try DaemonOptions("hint_peer=\(text)") }
    }

    @Test func `peers add up, and a store needs a port to call`() throws {
        let options = try DaemonOptions("hint_peer=a,hint_peer=b:7,hint_port=28771,notify=0.0.0.0:8460,off=hints")
        #expect(options.hints.peers.map(\.host) == ["a", "b"])
        #expect(options.hints.port == 28_771)
        #expect(options.hints.notifications?.port == 8460)
        #expect(options.off == [.hints])
        #expect(
            throws: DaemonOptions.Problem(
                description: "notify is an address of this machine and a port, as in 0.0.0.0:8460, not 0.0.0.0")
        ) { try DaemonOptions("notify=0.0.0.0") }
        #expect(
            throws: DaemonOptions.Problem(description: "there are at most 64 of hint_peer, not 65")
        ) { try DaemonOptions((0..<65).map { "hint_peer=h\($0)" }.joined(separator: ",")) }
        #expect(
            throws: DaemonOptions.Problem(description: "hint_port is a port, 1 to 65535, not 0")
        ) { try DaemonOptions("hint_port=0") }
    }
}
