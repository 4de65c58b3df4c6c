import Foundation
import Testing

@testable import Daemon

@Suite struct ContainerLocationTests {
    private static let nowhere = ["HOME": "/nonexistent"]

    @Test func `a file URL takes neither an endpoint nor a region`() throws {
        let location = try ContainerLocation(url: "file:///srv/cloud")
        #expect(try location.resolved(state: nil, variables: Self.nowhere) == location)
        #expect(location.options.isEmpty)
        for (endpoint, region) in [("http://a", nil), (nil, "eu-west-1")] as [(String?, String?)] {
            let error = #expect(throws: DaemonError.self) {
                try ContainerLocation(url: "file:///srv/cloud", endpoint: endpoint, region: region)
            }
            #expect(error?.kind == .usage)
        }
    }

    @Test func `the location of a bucket is resolved to an explicit endpoint and region`() throws {
        let location = try ContainerLocation(url: "s3://notes/box")
        let amazon = try location.resolved(state: nil, variables: Self.nowhere)
        #expect(amazon.options == ["--endpoint", "https://s3.us-east-1.amazonaws.com", "--region", "us-east-1"])
        let other = try location.resolved(
            state: nil, variables: Self.nowhere.merging(["AWS_ENDPOINT_URL": "http://a:1", "AWS_REGION": "b"]) { $1 })
        #expect(other.options == ["--endpoint", "http://a:1", "--region", "b"])
        let error = #expect(throws: DaemonError.self) {
            try ContainerLocation(url: "s3://No").resolved(state: nil, variables: Self.nowhere)
        }
        #expect(error?.kind == .usage)
    }

    @Test func `the endpoint of the last mount is used unless the environment gives another one`() throws {
        let base = FileManager.default.temporaryDirectory.appending(path: "location-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: base) }
        let variables = ["HOME": "/nonexistent", "XDG_STATE_HOME": base]
        func record(_ name: String, _ url: String, _ endpoint: String?) throws -> StateDirectory {
            let place = StateDirectory(path: "\(base)/dewpoint/\(name)")
            try place.make()
            try place.record(try ContainerLocation(url: url, endpoint: endpoint, region: endpoint == nil ? nil : "r"))
            return place
        }
        let first = try record("one", "s3://notes/box", "http://one:1")
        _ = try record("two", "s3://other", "http://two:2")
        _ = try record("three", "file:///srv", nil)
        let location = try ContainerLocation(url: "s3://notes/box")
        #expect(
            try location.resolved(state: nil, variables: variables).options == [
                "--endpoint", "http://one:1", "--region", "r",
            ])
        let elsewhere = variables.merging(["AWS_ENDPOINT_URL": "http://three:3"]) { $1 }
        #expect(try location.resolved(state: first, variables: elsewhere).endpoint == "http://three:3")
        // Two services have a bucket of this name: only the state directory tells which one is meant.
        let second = try record("four", "s3://notes/box", "http://four:4")
        #expect(
            try location.resolved(state: nil, variables: variables).endpoint == "https://s3.us-east-1.amazonaws.com")
        #expect(try location.resolved(state: second, variables: variables).endpoint == "http://four:4")
        #expect(try first.location().endpoint == "http://one:1")
    }

    @Test func `a location recorded by an earlier version is decoded`() throws {
        let note = Data(#"{"remote":"file:///srv/cloud"}"#.utf8)
        #expect(
            try JSONDecoder().decode(ContainerLocation.self, from: note) == ContainerLocation(url: "file:///srv/cloud"))
    }
}
