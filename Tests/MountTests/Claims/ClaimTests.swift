import Foundation
import Testing

extension RealMount {
    /// The cases of `Drivers/coordination.py`, which has its own client of the control API.
    @Suite("Coordinated access") struct Claims {
        private func run(_ name: String, in container: MountedContainer, limit: Duration = .seconds(90)) async throws {
            try await Driver.run(
                "coordination.py", name, container.a.point, container.binary, container.b.point, limit: limit,
                environment: container.environment)
        }

        @Test(arguments: [
            "every_third_cell_of_the_matrix", "plain_programs_wait_for_claims", "names_are_refused_after_a_while",
            "a_claim_covers_descendants_only", "a_writer_finishes_before_a_claim_is_granted",
            "several_items_are_granted_together", "purposes_and_coordinators_do_not_wait_for_their_own",
            "cancelling_and_timing_out", "bad_requests_say_what_is_wrong", "a_claim_follows_a_rename_of_case_only",
            "a_claim_follows_its_directories",
            "a_claim_for_replacing_stays_with_the_place",
            "a_claim_says_that_it_downloads", "coordinate_runs_a_command_under_a_claim", "coordinate_says_how_it_ended",
            "a_claim_ends_with_its_connection_and_its_process", "a_holder_of_another_pid_namespace_is_shown_as_such",
        ])
        func `claims order access by coordinated and by plain programs`(name: String) async throws {
            try await MountedContainer.with { container in
                try await run(name, in: container)
                try await container.a.sync()
                try await container.a.check()
            }
        }

        @Test(arguments: [
            "presenters_are_asked_in_order", "a_presenter_refuses", "plain_programs_are_told_of",
            "events_can_be_followed", "presenters_decide_about_evictions", "a_stopped_presenter_is_not_waited_for",
            "an_editor_saves_before_others_read",
        ])
        func `presenters are asked and notified`(name: String) async throws {
            try await MountedContainer.with { container in
                try await run(name, in: container)
                try await container.a.sync()
                try await container.a.check()
            }
        }

        @Test(arguments: [
            "two_presenters_that_read_in_their_handlers", "a_deadlock_is_named", "evicting_inside_a_claim",
            "a_directory_is_moved_while_a_child_is_written", "a_slow_handler_delays_a_later_relinquish",
        ])
        func `known pitfalls of file coordination are handled`(name: String) async throws {
            try await MountedContainer.with { container in try await run(name, in: container) }
        }

        @Test func `with deadlock=fail, the claim that completes a deadlock is refused`() async throws {
            try await MountedContainer.with(options: "deadlock=fail") { container in
                try await run("a_deadlock_is_refused", in: container)
            }
        }

        @Test(arguments: [
            ("wait", "a_presenter_that_never_answers_is_waited_for"),
            ("skip", "a_presenter_that_never_answers_is_skipped"),
            ("fail", "a_presenter_that_never_answers_fails_the_claim"),
        ])
        func `presenter_patience decides about unresponsive presenters`(patience: String, name: String) async throws {
            try await MountedContainer.with(options: "presenter_timeout=1s,presenter_patience=\(patience)") {
                container in
                try await run(name, in: container)
            }
        }

        @Test(arguments: [
            "other_devices_are_told_of", "an_editor_saves_before_another_device_overwrites",
            "a_claim_holds_another_device_off", "an_upload_asks_to_save_first",
            "what_is_written_under_a_claim_is_uploaded_after_it", "a_refusal_does_not_keep_a_change_away",
        ])
        func `claims and presenters coordinate changes from and to other devices`(name: String) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                try await run(name, in: container)
                try await container.a.sync()
                try await container.b.sync()
                try await container.a.check()
                try await container.b.check()
            }
        }

        @Test func `a hung presenter does not keep changes from being synced`() async throws {
            try await MountedContainer.with(devices: ["A", "B"], options: "presenter_timeout=1s") { container in
                try await run("a_hung_presenter_keeps_nothing_from_moving", in: container)
            }
        }

        /// How many processes of the mixed load are killed: 500 with `DEWPOINT_LONG`.
        private static var kills: Int { ProcessInfo.processInfo.environment["DEWPOINT_LONG"] == nil ? 60 : 500 }

        @Test func `no claim outlives its process, and clients reconnect`() async throws {
            try await MountedContainer.with { container in
                let printed = try await Driver.run(
                    "claim_crashes.py", container.a.point, container.binary, container.url, container.a.state,
                    "\(Self.kills)", limit: .seconds(60 + 2 * Self.kills), environment: container.environment)
                print(printed, terminator: "")
                try await container.a.sync()
                try await container.a.check()
            }
        }
    }
}
