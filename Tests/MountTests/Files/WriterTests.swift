import Testing

extension RealMount {
    @Suite("Writers of one file") struct Writers {
        /// The cases of `Drivers/writers.py`.
        static let cases = [
            "two_rewriters_do_not_mix", "two_appenders_write_whole_records", "each_write_is_whole",
            "sharers_see_what_they_write",
            "a_rewriting_open_waits_for_the_close", "a_quiet_holder_gives_way", "a_long_quiet_holder_costs_nothing",
            "a_turn_ends_with_its_process", "sharing_opens_wait_for_an_active_turn_only",
            "sharing_opens_make_nobody_wait", "relatives_are_one_writer", "not_blocking_waits_for_nobody",
            "crossed_writers_do_not_lock_each_other_out", "first_come_first_served",
            "renaming_and_removing_never_wait", "readers_never_wait", "a_waiting_open_can_be_killed",
            "an_exit_is_never_held", "interrupting_a_wait", "signals_that_ask_for_nothing",
        ]

        @Test(arguments: cases)
        func `writers take turns`(name: String) async throws {
            try await MountedContainer.with { container in
                try await Driver.run("writers.py", name, container.a.point, limit: .seconds(90))
                try await container.a.sync()
                try await container.a.check()
            }
        }

        @Test(arguments: ["delete", "wal"])
        func `four processes write to one SQLite database without losing a transaction`(mode: String) async throws {
            try await MountedContainer.with { container in
                let printed = try await Driver.run("databases.py", mode, container.a.point, limit: .seconds(60))
                print("SQLite, journal mode \(mode): \(printed)", terminator: "")
                try await container.a.sync()
                try await container.a.check()
            }
        }

        @Test func `dewpoint locks lists holders and waiters`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                let listed = try await Command.script(
                    #"""
                    python3 -c 'import os, sys, time
                    file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT); os.write(file, b"line"); time.sleep(3)' "$1/log" &
                    flock "$1/locked" sleep 3 & sleep 0.1; flock "$1/locked" true &
                    until test -s "$1/log"; do sleep 0.05; done; sleep 0.5
                    "$2" locks "$1"; "$2" locks "$1" --json
                    wait
                    """#, a.point, container.binary, environment: container.environment)
                #expect(listed.contains("log"))
                #expect(listed.contains("turn"))
                #expect(listed.contains("locked"))
                #expect(listed.contains("flock"))
                #expect(listed.contains("\"waiters\""))
            }
        }
    }
}
