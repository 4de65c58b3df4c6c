import ControlAPI
import Dashboard
import Model
import Testing

/// What the dashboard passes on to the daemons.
@Suite struct ForwardedRouteTests {
    /// A route that is added to the control API stays out until somebody decides otherwise.
    private static let passed: Set<String> = [
        "GET /v1/status", "GET /v1/items", "GET /v1/items/status", "GET /v1/items/download-progress",
        "GET /v1/items/versions", "GET /v1/items/follow", "GET /v1/events", "GET /v1/trash", "GET /v1/locks",
        "GET /v1/devices", "GET /v1/log", "GET /v1/transfers", "GET /v1/conflicts", "GET /v1/link", "POST /v1/link",
        "POST /v1/items/download", "POST /v1/items/cancel-download", "POST /v1/items/evict", "POST /v1/items/pin",
        "POST /v1/items/resolve", "POST /v1/items/restore-version", "POST /v1/items/pause", "POST /v1/trash/restore",
        "POST /v1/deletions/answer", "POST /v1/sync", "POST /v1/storms/answer", "POST /v1/claims/break",
        "POST /v1/previews",
    ]

    @Test(arguments: Set(ControlRequests.all.map { $0.route }), ["GET", "POST"])
    func `no more than what the page needs is passed on`(route: String, method: String) {
        let isPassed = Self.passed.contains("\(method) \(route)")
        #expect((ForwardedRoute(method: method, path: route) != nil) == isPassed)
        #expect(ForwardedRoute(method: method, path: route + "/") == nil)
        #expect(ForwardedRoute(method: method.lowercased(), path: route) == nil)
    }

    @Test func `streams are told from answers that end`() throws {
        #expect(try #require(ForwardedRoute(method: "GET", path: "/v1/events")).isStream)
        #expect(try #require(ForwardedRoute(method: "GET", path: "/v1/items/follow")).isStream)
        #expect(!(try #require(ForwardedRoute(method: "GET", path: "/v1/items")).isStream))
    }

    @Test(arguments: [
        "/v1/items/../unmount", "/v1/status%2f..%2funmount", "//v1/status", "v1/status", "", "/v1/status\n",
    ])
    func `a path is passed on as it is or not at all`(path: String) {
        #expect(ForwardedRoute(method: "GET", path: path) == nil)
        #expect(ForwardedRoute(method: "POST", path: path) == nil)
    }

    @Test func `containers of other users are neither shown nor asked`() throws {
        let table = MountTable(
            text: """
                36 35 0:41 / /mnt/mine rw - fuse.dewpoint a rw,user_id=1000,group_id=0
                37 35 0:42 / /mnt/theirs rw - fuse.dewpoint b rw,user_id=1001,group_id=0
                38 35 0:43 / /mnt/disk rw - ext4 c rw
                """)
        let containers = DashboardContainers(table: { table }, environment: [:], user: 1000)
        #expect(containers.all.map(\.mountpoint) == ["/mnt/mine"])
        let mine = try #require(containers.all.first).id
        #expect(mine == ControlSocket.identifier(of: "/mnt/mine"))
        #expect(throws: FileError(.notFound, "the container is no longer mounted")) {
            try containers.socket(of: ControlSocket.identifier(of: "/mnt/theirs"))
        }
        #expect(
            throws: FileError(.unreachable, "the daemon of /mnt/mine has died; mount the container again")
        ) { try containers.socket(of: mine) }
    }
}
