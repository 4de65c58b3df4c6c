import Model
import Testing

@testable import dewpoint

@Suite struct MonitorCommandTests {
    /// In the time zone of whoever runs the tests.
    private let noon = LocalTime.text("2026-01-31T12:00:00Z")

    @Test func `an event is printed as one line with its known details`() {
        var news = ItemNews(event: .moved, path: "b.txt", time: "2026-01-31T12:00:00.250Z")
        news.from = "a.txt"
        news.process = 812
        news.origin = "mv"
        #expect(MonitorCommand.text(news) == "\(noon)  moved  b.txt  from a.txt  by mv(812)")
        news.process = nil
        #expect(MonitorCommand.text(news).hasSuffix("by mv"))
        news.origin = nil
        news.process = 812
        #expect(MonitorCommand.text(news).hasSuffix("by process 812"))
    }

    @Test func `keys and versions are printed, and the root of the container is printed as a dot`() {
        var news = ItemNews(event: .ubiquityAttributes, path: "", time: "2026-01-31T12:00:00Z")
        news.keys = ["A", "B"]
        #expect(MonitorCommand.text(news) == "\(noon)  ubiquityAttributes  .  A B")
        news = ItemNews(event: .versionGained, path: "a", time: "2026-01-31T12:00:00Z")
        news.version = "v1"
        #expect(MonitorCommand.text(news) == "\(noon)  versionGained  a  version v1")
    }

    @Test func `control characters in a name are not printed`() {
        let news = ItemNews(event: .changed, path: "a\nb\u{1b}[2J", time: "2026-01-31T12:00:00Z")
        #expect(!MonitorCommand.text(news).unicodeScalars.contains { $0.value < 0x20 })
    }
}
