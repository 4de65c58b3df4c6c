import Testing

@testable import Ubiquity

@Suite struct LogFormatTests {
    @Test(arguments: [
        ("%{public}@ has %d", "%@ has %d"), ("%{private, mask.hash}s%%", "%s%%"), ("plain {x}", "plain {x}"),
        ("%{public}.2f", "%.2f"),
    ])
    func `annotations are taken out of formats`(_ format: String, _ plain: String) {
        #expect(OSLogFormat(format).plain == plain)
    }
}
