import Ubiquity

/// A list of notes that several devices share, written for iCloud Documents: it imports Ubiquity and nothing else.
///
///     notes-example list                     the notes and their status           NoteList
///     notes-example watch                    the same, then all changes           NoteList, NoteWatcher
///     notes-example add NAME LINE            appends a line, or makes the note    NoteDocument
///     notes-example show NAME                the text of a note                   NotesFolder
///     notes-example conflicts NAME           the versions of a note in conflict   NoteConflict
///     notes-example resolve NAME NUMBER      keeps one of them
///
/// A note is a text file in `Documents` of the first mounted container. `scripts/notes-example` mounts one on two
/// devices and takes a tour.
@main
struct NotesExample {
    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("notes-example: \(error.localizedDescription)\n".utf8))
            exit(1)
        }
    }

    // On the main actor, as the user interface of an app would be. Notifications arrive on its queue.
    @MainActor
    private static func run(_ arguments: [String]) async throws {
        let folder = try NotesFolder.find()
        switch (arguments.first, arguments.count) {
        case ("list", 1): await NoteList().printOnce()
        case ("watch", 1):
            let watcher = NoteWatcher(folder.url)
            watcher.start()
            defer { watcher.stop() }
            await NoteList().printForever()
        case ("show", 2): say(try folder.text(of: arguments[1]).trimmingCharacters(in: .newlines))
        case ("add", 3): try await NoteDocument.add(arguments[2], to: folder.note(arguments[1]))
        case ("conflicts", 2): NoteConflict(folder.note(arguments[1])).show()
        case ("resolve", 3):
            guard let number = Int(arguments[2]) else { throw Mistake("\(arguments[2]) is no number") }
            try NoteConflict(folder.note(arguments[1])).keep(number)
        default: throw Mistake("usage: list | watch | show NAME | add NAME LINE | conflicts NAME | resolve NAME NUMBER")
        }
    }
}

/// What the user is told.
struct Mistake: LocalizedError {
    let errorDescription: String?
    init(_ description: String) { errorDescription = description }
}

/// Prints a line at once, from any thread: `print` would keep lines back while they go to a file.
func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
