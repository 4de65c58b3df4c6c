import Foundation
import Model
import Testing

@testable import dewpoint

@Suite struct RedactionTests {
    private func redaction(keepsNames: Bool = false) -> Redaction {
        Redaction(keepsNames: keepsNames, environment: ["AWS_SECRET_ACCESS_KEY": "planted+key/value", "HOME": "/root"])
    }

    @Test func `a log line keeps its time, Dewpoint's words and numbers, and nothing else`() {
        var redaction = redaction()
        let line =
            "2026-11-25T03:05:00+0000 warning sync: error=unavailable [Sync] failed to upload Zebra Straße.odt, retrying in 20 s"
        let told = redaction.sentence(line)
        #expect(
            told
                == "2026-11-25T03:05:00+0000 warning sync: error=unavailable [Sync] failed to upload name-1 name-2, retrying in 20 s"
        )
        #expect(redaction.sentence("skipping Zebra.").contains("name-1"))
        #expect(redaction.sentence("Zebra/Straße.odt") == "name-1/name-2")
    }

    @Test(arguments: [
        "secret=abc123", "X-Amz-Security-Token: abc123", #""password":"abc123""#, "AKIAIOSFODNN7EXAMPLE",
        "https://user:abc123@host/", "planted+key/value",
        "https://host/1.html?x=1#2.abc1234567890123456789012345678901234567890.report.pdf?x=2",
    ])
    func `keys are removed even where names are kept`(text: String) {
        var redaction = redaction(keepsNames: true)
        let told = redaction.sentence("before \(text) after")
        for key in ["abc123", "AKIAIOSFODNN7EXAMPLE", "planted+key"] { #expect(!told.contains(key)) }
        #expect(told.hasPrefix("before ") && told.hasSuffix(" after"))
    }

    @Test func `paths in JSON become the same pseudonyms everywhere`() throws {
        var redaction = redaction()
        let locks = [
            LockListing(
                path: "Zebra/plan.odt", inode: .root,
                holders: [
                    LockListing.Party(
                        kind: "flock", detail: "exclusive", processes: [7], command: "soffice", ageSeconds: 1,
                        waitsFor: [])
                ], waiters: []),
            LockListing(path: "Zebra", inode: .root, holders: [], waiters: []),
        ]
        let text = try redaction.json(locks)
        #expect(!text.contains("Zebra") && !text.contains("plan.odt") && !text.contains("soffice"))
        #expect(text.contains("exclusive") && text.contains("flock"))
        let name = redaction.pseudonym("Zebra")
        #expect(text.contains("\"path\" : \"\(name)\"") && text.contains("\"path\" : \"\(name)/"))
    }

    @Test func `devices in JSON have neither name nor address, and fast paths keep theirs`() throws {
        struct Status: Encodable {
            let fastPaths = [FastPathStatus(.hints, .on)]
            let peers = [
                ContainerStatus.Peer(
                    device: DeviceID(uuid: UUID()), name: "anna's laptop", address: "192.168.1.7", secondsAgo: 4,
                    commit: 9,
                    isMissingHere: false)
            ]
            let overdue = [
                ContainerStatus.OverdueDevice(
                    device: DeviceID(uuid: UUID()), name: "anna's desk", last: "2026-01-01T00:00:00Z", seconds: 60)
            ]
        }
        var redaction = Redaction(keepsNames: false, environment: [:])
        let text = try redaction.json(Status())
        for secret in ["anna", "192.168"] { #expect(!text.contains(secret), "\(text)") }
        #expect(text.contains(#""name" : "hints""#) && text.contains(#""name" : "name-"#), "\(text)")
    }

    @Test func `names stay when they are asked for`() {
        var redaction = redaction(keepsNames: true)
        #expect(redaction.sentence("skipping Zebra.odt") == "skipping Zebra.odt")
        #expect(redaction.path("Zebra/x") == "Zebra/x")
    }
}
