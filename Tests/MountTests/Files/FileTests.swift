import Testing

extension RealMount {
    @Suite("Files, as on a local file system") struct Files {
        /// The cases of `Drivers/files.py`.
        static let cases = [
            "unlinked_open_file_lives_on", "open_handle_survives_rename", "open_directory_survives_rename",
            "nameless_temporary_file", "nameless_files_of_programs", "many_open_files", "open_flags", "hard_links",
            "symbolic_links",
            "rename_within_the_rules", "rename_without_replacing", "rename_exchanges", "removing_names",
            "inode_numbers_stay", "deep_directories", "listing_while_removing", "names_that_differ_only_in_bytes",
            "times_with_nanoseconds", "times_at_the_ends", "times_of_changes", "times_go_forward", "modes",
            "set_id_bits", "owners",
            "changing_owners_clears_set_id", "set_group_directories", "sizes_while_others_close",
            "truncating_while_others_close", "truncating_by_a_reader", "user_attributes", "statistics_of_the_disk",
            "blocks_are_never_none", "empty_and_tiny_files", "truncating", "writing_beyond_the_end",
            "sparse_file_of_5_gib", "allocating_and_punching", "copying_a_range", "sending_a_file", "mapped_memory",
            "writing_beside_a_map", "mapping_changes_the_time", "a_store_changes_the_time_by_the_close",
            "asynchronous_direct_writes_are_seen", "vectors", "syncing", "growing_is_seen_by_a_reader", "record_locks",
            "record_lock_waits_and_is_handed_on", "waiting_for_a_lock_can_be_interrupted", "whole_file_locks",
            "locks_of_an_open_file_description", "fifos", "sockets", "notifications", "threads_of_one_process",
            "nameless_file_by_a_path_descriptor", "bound_file_is_replaced", "listener_opens_what_is_gone",
            "positions_survive_removals", "positions_of_one_stream", "listing_while_saving", "listing_while_adding",
        ]

        /// Each case runs on a mount of its own; afterwards everything is uploaded, and index, backing directory and
        /// container agree.
        @Test(arguments: cases)
        func `the mount behaves like ext4`(name: String) async throws {
            try await MountedContainer.with { container in
                try await Driver.run("files.py", name, container.a.point)
                if ["listing_while_removing", "positions_survive_removals"].contains(name) {
                    try await container.a.confirmDeletions()
                }
                try await container.a.sync()
                try await container.a.check()
            }
        }

        /// The cases that depend on how bytes are read and written, repeated without pass-through.
        @Test(arguments: [
            "open_handle_survives_rename", "truncating", "sparse_file_of_5_gib", "mapped_memory",
            "writing_beside_a_map", "mapping_changes_the_time", "growing_is_seen_by_a_reader", "copying_a_range",
            "a_store_changes_the_time_by_the_close", "asynchronous_direct_writes_are_seen", "times_go_forward",
            "times_of_changes", "sizes_while_others_close", "truncating_while_others_close",
            "nameless_file_by_a_path_descriptor", "bound_file_is_replaced", "listener_opens_what_is_gone",
        ])
        func `the mount behaves like ext4 without pass-through`(name: String) async throws {
            try await MountedContainer.with(options: "off=passthrough") { container in
                try await Driver.run("files.py", name, container.a.point)
                try await container.a.sync()
                try await container.a.check()
            }
        }

        /// With pass-through, the first open of a file decides how everybody reads and writes it.
        @Test(
            .enabled(if: Requirement.ioUring, "the kernel does not let programs use io_uring"),
            arguments: [nil, "off=passthrough"],
            [
                "a_new_file_is_written_as_a_stream", "a_file_is_rewritten_after_it_was_read",
                "a_file_is_read_to_its_end", "a_file_that_is_written_is_read_by_others",
                "a_map_of_a_closed_file_shows_stores", "opens_of_every_kind_succeed",
            ])
        func `whoever opens a file first, programs read and write it as on ext4`(options: String?, name: String)
            async throws
        {
            try await MountedContainer.with(options: options) { container in
                try await Driver.run("rings.py", name, container.a.point)
                try await container.a.sync()
                try await container.a.check()
            }
        }

        @Test func `special files and unsynced names stay on this machine; everything else is synced`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                try await Command.script(
                    #"""
                    cd "$1"
                    mkfifo fifo; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
                    touch .DS_Store '~$letter.docx' .notes.txt.swp note.nosync.txt
                    echo text > file; ln -s file link; mkdir folder; ln file folder/hard
                    """#, a.point)
                try await a.sync()
                try await b.sync()
                #expect(try listing(b.point) == ["file", "folder", "link"])
                #expect(try await a.call("getxattr", "fifo", "dewpoint.isUbiquitousItem") == "OK 0")
                #expect(try await Command.check(["cat", b.path("folder/hard")]) == "text\n")
                // After remounting, the files that are not synced are still here.
                try await a.unmount()
                try await a.mount()
                #expect(try listing(a.point).count == 9)
                try await a.check()
            }
        }
    }
}
