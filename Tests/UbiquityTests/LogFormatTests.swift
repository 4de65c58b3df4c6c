import Testing

@testable import Ubiquity

@Suite struct LogFormatTests {
    @Test func `a message of a logger has its values, whoever may see them`() {
        let name: String? = "a"
        let missing: Int? = nil
        let message: OSLogMessage =
            "file \(name, privacy: .public) of \(3) bytes, \(missing, privacy: .private(mask: .hash)) \(1.5)"
        #expect(message.text == "file a of 3 bytes, nil 1.5")
        Logger(subsystem: "org.dewpoint.test", category: "test").debug("not shown: \(name, privacy: .private)")
    }

    @Test(arguments: [
        ("%{public}@ has %d", "%@ has %d"), ("%{private, mask.hash}s%%", "%s%%"), ("plain {x}", "plain {x}"),
        ("%{public}.2f", "%.2f"),
    ])
    func `annotations are taken out of formats`(_ format: String, _ plain: String) {
        #expect(OSLogFormat(format).plain == plain)
    }
}
