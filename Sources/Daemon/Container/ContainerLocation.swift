import CoreMetrics
import Foundation
import Logging
import Metering
import Model
import Remote
import RemoteS3

/// The location of a container: a URL and, for a bucket, its service endpoint and region.
package struct ContainerLocation: Hashable, Codable, Sendable {
    /// `s3://BUCKET/PREFIX` or `file:///path/to/directory`.
    package let url: String
    /// `nil` for the default endpoint, or for a directory.
    package private(set) var endpoint: String?
    package private(set) var region: String?

    private enum CodingKeys: String, CodingKey {
        // The key written by earlier versions.
        case url = "remote"
        case endpoint, region
    }

    /// - Throws: ``DaemonError`` with `usage` for a directory with options that only buckets have.
    package init(url: String, endpoint: String? = nil, region: String? = nil) throws(DaemonError) {
        self.url = url
        self.endpoint = endpoint
        self.region = region
        guard isBucket || (endpoint == nil && region == nil) else {
            throw DaemonError(.usage, "--endpoint and --region are for s3://BUCKET/PREFIX, not for \(url)")
        }
    }

    /// The directory of a container with a `file:` URL; `nil` for a bucket, or when the URL is not valid.
    package static func directory(of url: String) -> String? {
        // What is wrong with it is reported when the store is opened.
        guard case .directory(let path)? = try? StoreLocation(url) else { return nil }
        return path
    }

    /// `BUCKET/PREFIX`; `nil` for a directory.
    var bucketPlace: String? { (try? S3Location.parts(of: url)).map { "\($0.bucket)/\($0.prefix)" } }

    /// What the keys of a container in a bucket begin with: nothing, or with a slash at the end.
    var keyPrefix: String { (try? S3Location.parts(of: url))?.prefix ?? "" }

    /// The locations above this one, nearest first: the directories, or the prefixes of the bucket.
    var outerLocations: [ContainerLocation] {
        var locations: [ContainerLocation] = []
        var rest = url[...]
        while rest.utf8.last == ItemPath.separator { rest = rest[..<rest.utf8.index(before: rest.endIndex)] }
        let scheme = isBucket ? S3Location.scheme.utf8.count : "file:///".utf8.count
        while locations.count < Self.outerLimit, let slash = rest.utf8.lastIndex(of: ItemPath.separator),
            rest.utf8.distance(from: rest.startIndex, to: slash) > scheme - 1
        {
            rest = rest[..<slash]
            guard
                let outer = try? ContainerLocation(url: String(rest), endpoint: endpoint, region: region)
            else { break }
            locations.append(outer)
        }
        return locations
    }

    /// Whether it is worth opening: a directory that is opened as a store gets a place for temporary files.
    var mayBeContainer: Bool {
        guard let directory = Self.directory(of: url) else { return true }
        return FileManager.default.fileExists(atPath: "\(directory)/container.json")
    }

    /// How many levels above a new container are examined: each is a request to the store.
    private static let outerLimit = 16

    private var isBucket: Bool { url.prefix(S3Location.scheme.count).lowercased() == S3Location.scheme }

    /// With all settings from variables, profiles and the last mount made explicit, so that a later process needs none
    /// of them.
    ///
    /// - Parameter state: The state directory in which the last mount may have recorded it, if known.
    package func resolved(state: StateDirectory?, variables: [String: String]) throws(DaemonError) -> ContainerLocation
    {
        guard isBucket else { return self }
        let last = StateDirectory.lastLocation(url: url, state: state, variables: variables)
        var resolved = self
        do throws(StoreError) {
            let location = try S3Location(
                url, endpoint: endpoint, region: region, remembered: (last?.endpoint, last?.region),
                environment: variables)
            resolved.endpoint = location.endpointURL
            resolved.region = location.region
        } catch {
            throw DaemonError(error, url: url)
        }
        return resolved
    }

    /// In the form of command line options, for a command that is shown or run.
    package var options: [String] {
        (endpoint.map { ["--endpoint", $0] } ?? []) + (region.map { ["--region", $0] } ?? [])
    }

    /// Whether another location is the same place in another spelling, as far as that shows without asking the store.
    func isSamePlace(as other: ContainerLocation) -> Bool {
        if let here = Self.directory(of: url), let there = Self.directory(of: other.url) {
            // Whatever links lead there.
            var (one, two) = (stat(), stat())
            guard stat(here, &one) == 0, stat(there, &two) == 0 else { return here.isBytewiseEqual(to: there) }
            return one.st_dev == two.st_dev && one.st_ino == two.st_ino
        }
        guard let here = bucketPlace, let there = other.bucketPlace else { return false }
        return here.isBytewiseEqual(to: there) && chosenEndpoint == other.chosenEndpoint
    }

    /// Where its bucket is looked for; `nil` for a directory.
    private var chosenEndpoint: String? {
        let variables = ProcessInfo.processInfo.environment
        return (try? S3Location(url, endpoint: endpoint, region: region, environment: variables))?.endpointURL
    }

    /// The prefix of the keys below another place in the same bucket.
    func neighbourPrefix(_ other: String) throws(DaemonError) -> String {
        guard isBucket else {
            throw DaemonError(
                .usage,
                "only a container in a bucket can adopt objects, and \(url) is not one; copy them with: dewpoint "
                    + "container import")
        }
        do throws(StoreError) {
            return try S3Location(
                url, endpoint: endpoint, region: region, environment: ProcessInfo.processInfo.environment
            ).neighbourPrefix(other)
        } catch {
            throw DaemonError(.usage, error.detail)
        }
    }

    /// Opens the store. Blocks briefly.
    ///
    /// - Parameters:
    ///   - createIfMissing: Whether to create a directory and to accept an empty one. Buckets are never created.
    ///   - metrics: Where repeated requests are counted.
    func openStore(
        createIfMissing: Bool, metrics: MetricRegistry = MetricRegistry()
    ) throws(StoreError) -> any ObjectStore {
        guard isBucket else { return try StoreLocation.open(url, createIfMissing: createIfMissing) }
        let variables = ProcessInfo.processInfo.environment
        let retries = RetryInstruments(metrics).request
        return S3Store(
            try S3Location(url, endpoint: endpoint, region: region, environment: variables), variables: variables,
            didCorrectClock: { offset in
                DaemonService.logger("store", level: .notice).notice(
                    "the clock of this machine differs from that of the store, whose time is used to sign requests",
                    metadata: ["seconds": "\(offset.components.seconds)"])
            },
            willRetry: { retries.increment() })
    }
}
