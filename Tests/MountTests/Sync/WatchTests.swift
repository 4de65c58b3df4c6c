import Testing

extension RealMount {
    /// The cases of `Drivers/watching.py` and `watchers.py`: programs that watch the mount of one device while another one makes changes.
    @Suite("Watching") struct Watching {
        private func run(_ name: String, options: String? = nil, limit: Duration = .seconds(120)) async throws {
            try await MountedContainer.with(devices: ["A", "B"], options: options) { container in
                try await Driver.run(
                    "watching.py", name, container.a.point, container.binary, container.b.point, limit: limit,
                    environment: container.environment)
                for device in [container.a, container.b] { try await device.check() }
            }
        }

        @Test(arguments: [
            "every_kind_of_change", "watched_items_themselves", "a_directory_that_is_worked_in",
            "names_that_programs_use_meanwhile", "the_helper_is_killed",
        ])
        func `programs that watch see the changes of another device as on a disk, once and in order`(
            name: String
        ) async throws { try await run(name) }

        @Test func `none of thousands of changes is missed or seen twice while others look at them`() async throws {
            try await run("many_changes_at_once", limit: .seconds(400))
        }

        private func follow(_ name: String) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                try await Driver.run(
                    "watchers.py", name, container.a.point, container.binary, container.b.point,
                    environment: container.environment)
            }
        }

        @Test(.needs("emacs")) func `an editor loads what another device has written, once`() async throws {
            try await follow("an_editor_reloads")
        }

        @Test(.needs("entr")) func `a command runs once for each change of another device`() async throws {
            try await follow("a_command_runs")
        }

        @Test(.needs("gio")) func `programs of GLib are told the same as on a disk`() async throws {
            try await follow("programs_of_glib")
        }

        @Test(.enabled(if: Requirement.fileManager, "Thunar cannot be run here: scripts/dependencies desktop"))
        func `a file manager shows what another device makes, moves and removes`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                try await Driver.run(
                    "file_manager.py", container.a.point, container.binary, container.b.point,
                    environment: container.environment)
            }
        }

        @Test func `it can be turned off`() async throws {
            try await run("nothing_is_announced", options: "off=watch_events")
        }
    }
}
