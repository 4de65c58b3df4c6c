import Foundation
import Testing

extension RealMount {
    /// The cases of `Drivers/dashboard.py`: the page in headless Chromium, and requests that are refused.
    @Suite(
        "The dashboard", .enabled(if: Requirement.browser, "chromium or python3-websocket is not installed"))
    struct Dashboard {
        @Test(arguments: [
            "files_are_shown_and_acted_on", "changes_are_shown_as_they_happen", "a_lost_daemon_is_found_again",
            "conflicts_are_resolved", "locks_devices_and_the_log_are_shown", "the_keyboard_suffices",
            "requests_of_others_are_refused", "connections_of_others_end", "the_link_is_opened_unseen",
            "pictures_are_shown_without_a_download", "every_view_fits",
        ])
        func `the page shows and does what it says, and answers nobody else`(name: String) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                try await Driver.run(
                    "dashboard.py", name, container.a.point, container.binary, container.b.point,
                    environment: container.environment)
            }
        }
    }
}
