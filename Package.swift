// swift-tools-version: 6.2
import PackageDescription

/// Whether the tests are built with the programs as users run them, instead of once more for debugging: half of a build
/// from nothing. Whoever changes the code is better served by the other, which is rebuilt in a minute. The environment
/// says it, as nothing but the tests of this package itself may need flags that packages are refused for.
let testsOneBuild = Context.environment["DEWPOINT_ONE_BUILD"] != nil

/// One settings array for every target: the language mode and the rules are the same everywhere.
let settings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .treatAllWarnings(as: .error),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (testsOneBuild ? [.unsafeFlags(["-enable-testing"])] : [])

/// Those of the tests, which need not be fast.
let testSettings = settings + (testsOneBuild ? [.unsafeFlags(["-Onone"])] : [])

extension Target.Dependency {
    /// A product that a program with `Ubiquity` alone does not need: without the trait its package is not even fetched.
    static func filesystem(_ product: String, _ package: String) -> Target.Dependency {
        .product(name: product, package: package, condition: .when(traits: ["Filesystem"]))
    }
}

let package = Package(
    name: "dewpoint",
    products: [
        .executable(name: "dewpoint", targets: ["dewpoint"]),
        .library(name: "Ubiquity", targets: ["Ubiquity"]),
    ],
    traits: [
        .trait(
            name: "Filesystem",
            description: "Everything but the library Ubiquity. Programs that use the library do without it."),
        .default(enabledTraits: ["Filesystem"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        .systemLibrary(name: "CFuse", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        .target(name: "CLinux"),

        .target(name: "Model", swiftSettings: settings),
        .target(name: "Linux", dependencies: ["Model", "CLinux"], swiftSettings: settings),
        .target(
            name: "Metering", dependencies: ["CLinux", .filesystem("CoreMetrics", "swift-metrics")],
            swiftSettings: settings),
        .target(name: "Coordination", dependencies: ["Model"], swiftSettings: settings),
        .target(
            name: "Replica",
            dependencies: [
                "Linux", "Model", "CLinux", "CZlib", .filesystem("GRDB", "GRDB.swift"),
                .filesystem("GRDBSQLite", "GRDB.swift"),
            ],
            swiftSettings: settings),
        .target(
            name: "Remote",
            dependencies: ["Linux", "Model", "CLinux", "CZlib", .filesystem("Crypto", "swift-crypto")],
            swiftSettings: settings),
        .target(
            name: "Sealing",
            dependencies: [
                "Remote", "Linux", "Model", .filesystem("Crypto", "swift-crypto"),
                .filesystem("CryptoExtras", "swift-crypto"),
            ],
            // In the program itself, which puts them into the store.
            resources: [
                .embedInCode("Page/share.html"), .embedInCode("Page/share.css"), .embedInCode("Page/share.js"),
            ],
            swiftSettings: settings),
        .target(
            name: "RemoteS3",
            dependencies: [
                "Remote", "Model", .filesystem("AsyncHTTPClient", "async-http-client"),
                .filesystem("Crypto", "swift-crypto"), .filesystem("NIOCore", "swift-nio"),
                .filesystem("NIOHTTP1", "swift-nio"), .filesystem("NIOPosix", "swift-nio"),
                .filesystem("NIOSSL", "swift-nio-ssl"),
                .filesystem("Subprocess", "swift-subprocess"),
            ],
            swiftSettings: settings),
        .target(
            name: "Sync",
            dependencies: [
                "Remote", "Replica", "Metering", "Linux", "Model", .filesystem("CoreMetrics", "swift-metrics"),
                .filesystem("Logging", "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "Transfer",
            dependencies: [
                "Sync", "Remote", "Replica", "Linux", "Model", "CLinux", .filesystem("Crypto", "swift-crypto"),
                .filesystem("Logging", "swift-log"), .filesystem("Subprocess", "swift-subprocess"),
            ],
            swiftSettings: settings),
        .target(
            name: "FileSystem",
            dependencies: [
                "Sync", "Coordination", "Remote", "Replica", "Metering", "Linux", "Model", "CLinux",
                .filesystem("CoreMetrics", "swift-metrics"),
                .filesystem("Logging", "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "Mount",
            dependencies: [
                "Control", "FileSystem", "Sync", "Metering", "Linux", "Model", "CFuse", "CLinux",
                .filesystem("CoreMetrics", "swift-metrics"),
                .filesystem("Logging", "swift-log"),
            ],
            swiftSettings: settings),
        .target(name: "ControlAPI", dependencies: ["Linux", "Model"], swiftSettings: settings),
        .target(
            name: "Control",
            dependencies: [
                "FileSystem", "Sync", "Coordination", "Remote", "Replica", "ControlAPI", "Metering", "Linux", "Model",
                .filesystem("Logging", "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "ControlClient", dependencies: ["ControlAPI", "Linux", "Model", "CLinux"], swiftSettings: settings),
        .target(name: "MetadataPredicate", swiftSettings: settings),
        .target(
            name: "Ubiquity",
            dependencies: [
                "ControlClient", "ControlAPI", "Coordination", "MetadataPredicate", "Linux", "Model", "CLinux",
                "CZlib",
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
            ],
            swiftSettings: settings),
        .target(
            name: "Daemon",
            dependencies: [
                "Mount", "Control", "FileSystem", "Transfer", "Sync", "Coordination", "RemoteS3", "Sealing", "Remote",
                "Replica", "ControlAPI", "Metering", "Linux", "Model", "CLinux",
                .filesystem("CoreMetrics", "swift-metrics"),
                .filesystem("Hummingbird", "hummingbird"), .filesystem("HummingbirdCore", "hummingbird"),
                .filesystem("Logging", "swift-log"), .filesystem("NIOCore", "swift-nio"),
                .filesystem("NIOPosix", "swift-nio"),
                .filesystem("ServiceLifecycle", "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .target(
            name: "NamedMounts",
            dependencies: ["Daemon", "ControlAPI", "Linux", "Model", .filesystem("TOMLKit", "TOMLKit")],
            swiftSettings: settings),
        .target(
            name: "Dashboard",
            dependencies: [
                "ControlAPI", "Model", .filesystem("AsyncHTTPClient", "async-http-client"),
                .filesystem("HTTPTypes", "swift-http-types"),
                .filesystem("Hummingbird", "hummingbird"), .filesystem("HummingbirdCore", "hummingbird"),
                .filesystem("Logging", "swift-log"), .filesystem("NIOCore", "swift-nio"),
                .filesystem("NIOHTTP1", "swift-nio"),
                .filesystem("ServiceLifecycle", "swift-service-lifecycle"),
            ],
            // In the program itself, which is installed as one file.
            resources: [
                .embedInCode("Page/dashboard.html"), .embedInCode("Page/dashboard.css"),
                .embedInCode("Page/dashboard.js"), .embedInCode("Page/refused.html"), .embedInCode("Page/reopen.js"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "dewpoint",
            dependencies: [
                "NamedMounts", "Dashboard", "Daemon", "Mount", "RemoteS3", "Sealing", "Remote", "ControlClient",
                "ControlAPI", "MetadataPredicate", "Linux", "Model",
                .filesystem("ArgumentParser", "swift-argument-parser"),
                .filesystem("Logging", "swift-log"),
            ],
            swiftSettings: settings),

        .executableTarget(
            name: "simulate",
            dependencies: [
                "Control", "FileSystem", "Sync", "Coordination", "Sealing", "Remote", "Replica", "Linux", "Model",
                "TestStores", "VirtualTime",
                .filesystem("Crypto", "swift-crypto"),
                .filesystem("Logging", "swift-log"),
                .filesystem("ArgumentParser", "swift-argument-parser"),
            ],
            swiftSettings: settings),

        // Of C alone: it has a capability, and is small enough to be read.
        .executableTarget(name: "dewpoint-backing"),

        // Of C alone: it must not end, whatever happens to daemons.
        .executableTarget(name: "dewpoint-supervisor"),

        .executableTarget(name: "powercut-disk", dependencies: ["CFuse"], swiftSettings: settings),

        // As a program elsewhere would be built: without the settings of this package.
        .executableTarget(
            name: "notes-example", dependencies: ["Ubiquity"],
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),

        .executableTarget(
            name: "ubiquity-client", dependencies: ["Ubiquity"], path: "Tests/UbiquityClient",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
        // The same sources, through a link, as old code is built.
        .executableTarget(
            name: "ubiquity-client-5", dependencies: ["Ubiquity"], path: "Tests/UbiquityClient5",
            swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]),

        .target(name: "SeededRandomness", path: "Tests/SeededRandomness", swiftSettings: testSettings),
        .target(name: "VirtualTime", path: "Tests/VirtualTime", swiftSettings: testSettings),
        .target(name: "Programs", dependencies: ["VirtualTime"], path: "Tests/Programs", swiftSettings: testSettings),
        .target(
            name: "HostilePeers", dependencies: ["Programs"], path: "Tests/HostilePeers",
            exclude: ["hostile_peers.py"], swiftSettings: testSettings),
        .target(name: "S3Server", dependencies: ["Programs"], path: "Tests/S3Server", swiftSettings: testSettings),
        .target(name: "DocumentationTables", path: "Tests/DocumentationTables", swiftSettings: testSettings),
        .target(name: "Mutations", path: "Tests/Mutations", swiftSettings: testSettings),
        .target(
            name: "TestStores", dependencies: ["Remote", "Model", "VirtualTime"], path: "Tests/TestStores",
            swiftSettings: testSettings),
        .testTarget(
            name: "ModelTests", dependencies: ["Model", "DocumentationTables", "SeededRandomness"],
            swiftSettings: testSettings),
        .testTarget(
            name: "MeteringTests",
            dependencies: ["Metering", "DocumentationTables", .filesystem("CoreMetrics", "swift-metrics")],
            swiftSettings: testSettings),
        .testTarget(
            name: "CoordinationTests", dependencies: ["Coordination", "Model", "SeededRandomness"],
            swiftSettings: testSettings),
        .testTarget(
            name: "MetadataPredicateTests", dependencies: ["MetadataPredicate", "SeededRandomness"],
            swiftSettings: testSettings),
        .testTarget(
            name: "UbiquityTests", dependencies: ["Ubiquity", "ControlClient", "Linux", "Model", "Programs"],
            swiftSettings: testSettings),
        .testTarget(
            name: "RemoteTests",
            dependencies: [
                "RemoteS3", "Sealing", "Remote", "Model", "Programs", "S3Server", "SeededRandomness", "TestStores",
                .filesystem("Crypto", "swift-crypto"),
            ],
            resources: [.copy("Fixtures")], swiftSettings: testSettings),
        .testTarget(
            name: "SealingTests",
            dependencies: [
                "Sealing", "Remote", "Model", "Mutations", "Programs", "SeededRandomness", "TestStores",
                .filesystem("Crypto", "swift-crypto"),
            ],
            exclude: ["format_vectors.py"], swiftSettings: testSettings),
        .testTarget(
            name: "RemoteS3Tests",
            dependencies: [
                "RemoteS3", "Remote", "Model", "HostilePeers", "Programs", "S3Server",
                .filesystem("AsyncHTTPClient", "async-http-client"),
                .filesystem("NIOCore", "swift-nio"), .filesystem("NIOHTTP1", "swift-nio"),
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "ReplicaTests",
            dependencies: [
                "Replica", "Linux", "Model", "Programs", "SeededRandomness", .filesystem("GRDB", "GRDB.swift"),
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "DeviceTests",
            dependencies: [
                "Control", "ControlAPI", "FileSystem", "Transfer", "Sync", "Coordination", "RemoteS3", "Sealing",
                "Remote", "Replica", "Linux", "Model", "Programs", "S3Server", "Mutations", "SeededRandomness",
                "TestStores", "VirtualTime",
                .filesystem("Logging", "swift-log"),
            ],
            swiftSettings: testSettings),
        .testTarget(name: "SimulationTests", dependencies: ["simulate", "Programs"], swiftSettings: testSettings),
        .testTarget(
            name: "ControlAPITests", dependencies: ["ControlAPI", "Model", "Mutations"], swiftSettings: testSettings),
        .testTarget(
            name: "ControlClientTests", dependencies: ["ControlClient", "ControlAPI", "HostilePeers", "Model"],
            swiftSettings: testSettings),
        .testTarget(
            name: "CommandLineTests",
            dependencies: [
                "dewpoint", "ControlClient", "ControlAPI", "Daemon", "Programs", "RemoteS3", "Remote", "Replica",
                "Model",
                .filesystem("ArgumentParser", "swift-argument-parser"),
                .filesystem("NIOHTTP1", "swift-nio"),
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "Daemon", "Control", "DocumentationTables", "ControlAPI", "Coordination", "FileSystem", "Linux",
                "Mount", "Remote", "Model", "Metering", "Sealing", "SeededRandomness", "Sync", "TestStores",
                .filesystem("Logging", "swift-log"),
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "NamedMountsTests", dependencies: ["NamedMounts", "Daemon", "Model"], swiftSettings: testSettings),
        .testTarget(
            name: "DashboardTests",
            dependencies: [
                "Dashboard", "ControlAPI", "Model", .filesystem("HTTPTypes", "swift-http-types"),
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "MountTests",
            dependencies: ["ControlAPI", "ControlClient", "HostilePeers", "Metering", "Model", "Programs", "S3Server"],
            exclude: ["Drivers"], swiftSettings: testSettings),
    ]
)
