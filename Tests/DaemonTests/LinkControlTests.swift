import Control
import Foundation
import Model
import Remote
import Testing

@testable import Daemon

@Suite struct LinkControlTests {
    private func directory() throws -> String {
        var template = Array("/tmp/dewpoint-link-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    @Test func `conditions apply to the store at once, and clearing returns to the mount's options`() async throws {
        let path = try directory()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let lasting = LinkSettings(delayMilliseconds: 1)
        let link = LinkControl(lasting)
        let store = link.conditioning(try StoreLocation.open("file://" + path, createIfMissing: true))
        try await store.put("a", .bytes([1, 2, 3]))
        #expect(link.settings.isLasting == true)

        try link.set(LinkProfile.totalLoss.settings)
        #expect(link.settings.profile == "100%-loss" && link.settings.isLasting == false)
        await #expect(throws: StoreError(.unavailable, key: "a")) { _ = try await store.byteCount(of: "a") }
        try link.set(nil)
        #expect(try await store.byteCount(of: "a") == 3)
        #expect(link.settings.delayMilliseconds == 1 && link.settings.isLasting == true)
    }

    @Test(arguments: [
        (LinkSettings(delayMilliseconds: -1), "a delay is 0 to 60000 milliseconds"),
        (LinkSettings(delayMilliseconds: 60_001), "a delay is 0 to 60000 milliseconds"),
        (
            LinkSettings(downKiBPerSecond: 0),
            "a rate is 1 to 1000000000 KiB per second, not 0; without one there is no limit"
        ),
        (
            LinkSettings(upKiBPerSecond: 1_000_000_001),
            "a rate is 1 to 1000000000 KiB per second, not 1000000001; without one there is no limit"
        ),
        (LinkSettings(lossPercent: 100.5), "the loss is 0 to 100 percent"),
        (LinkSettings(lossPercent: .nan), "the loss is 0 to 100 percent"),
    ])
    func `conditions out of range are refused, and change nothing`(settings: LinkSettings, sentence: String) throws {
        let link = LinkControl()
        let error = try #require(throws: FileError.self) { try link.set(settings) }
        #expect(error.code == .invalid && error.detail == sentence)
        #expect(link.settings.isUnchanged)
    }

    @Test(arguments: LinkProfile.allCases) func `every profile is valid and found by its name`(profile: LinkProfile) {
        #expect(profile.settings.fault == nil && !profile.settings.isUnchanged)
        #expect(LinkProfile(name: profile.rawValue.lowercased().replacing("-", with: " ")) == profile)
    }

    @Test func `settings are shown in words`() {
        #expect(LinkProfile.threeG.settings.text == "3G: delay 200 ms, 95 KiB/s down, 40 KiB/s up")
        #expect(LinkSettings(lossPercent: 2.5).text == "2.5% of requests lost")
        #expect(LinkProfile.highLatencyDNS.settings.text == "High-Latency-DNS: lookups take 3000 ms")
        #expect(LinkSettings().text == "not limited")
    }

    @Test func `the page Metrics has the figures of every profile`() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        let page = try String(
            contentsOfFile: sources + "/Sources/Model/Documentation.docc/Metrics.md", encoding: .utf8)
        for profile in LinkProfile.allCases {
            let settings = profile.settings
            let delay =
                settings.lookupMilliseconds.map { "\($0) ms, once a minute" }
                ?? (settings.delayMilliseconds > 0 ? "\(settings.delayMilliseconds) ms" : "")
            func rate(_ rate: Int64?) -> String { rate.map { "\($0) KiB/s" } ?? "" }
            let loss = settings.lossPercent > 0 ? "\(Int(settings.lossPercent))%" : ""
            let row =
                (["`\(profile.rawValue)`", delay] + [settings.downKiBPerSecond, settings.upKiBPerSecond].map(rate)
                + [loss]).map { $0.isEmpty ? "|" : "| \($0)" }.joined(separator: " ") + " |"
            #expect(page.contains("\n\(row)\n"), "\(row)")
        }
    }
}
