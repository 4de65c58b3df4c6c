import Model
import Synchronization
import Linux

/// The containers that this program may use and that are mounted.
enum ProgramContainers {
    /// A mounted container and its identifier, such as `iCloud.com.example.Notes`.
    struct Entry: Sendable {
        let container: MountedContainer
        let identifier: String
    }

    /// Why the program cannot use a container: three causes, which Apple's `nil` does not tell apart.
    enum Absence: Error, Equatable, Sendable, CustomStringConvertible {
        /// The program's `Info.plist` names other containers.
        case notDeclared(String)
        /// No such container is mounted, or its daemon has ended.
        case notMounted(String?)
        /// It is mounted, but not for this program.
        case leftOut(String)

        var description: String {
            switch self {
            case .notDeclared(let id): "NSUbiquitousContainers of Info.plist does not name the container \(id)"
            case .notMounted(let id?): "the container \(id) is not mounted; see: dewpoint mount"
            case .notMounted(nil): "no container of this program is mounted; see: dewpoint mount"
            case .leftOut(let id): "\(MountedContainer.mountpointsVariable) leaves out the container \(id)"
            }
        }
    }

    /// In order of preference. Containers whose daemons have ended are left out.
    static func mounted(for program: ProgramInfo = .main) -> [Entry] {
        let declared = program.containers.map { Set($0.keys.map { ContainerName($0) }) }
        return MountedContainer.all().compactMap { entry($0) }.filter { entry in
            declared?.contains(ContainerName(entry.identifier)) ?? true
        }
    }

    /// - Parameter identifier: In any of its spellings; `nil` for the first one.
    static func find(
        _ identifier: String?, for program: ProgramInfo = .main
    ) -> Result<MountedContainer, Absence> {
        let mounted = mounted(for: program)
        guard let identifier else {
            return mounted.first.map { .success($0.container) } ?? .failure(.notMounted(nil))
        }
        let name = ContainerName(identifier)
        if let entry = mounted.first(where: { ContainerName($0.identifier) == name }) {
            return .success(entry.container)
        }
        if let declared = program.containers, !declared.keys.contains(where: { ContainerName($0) == name }) {
            return .failure(.notDeclared(identifier))
        }
        let isLeftOut = CurrentMounts.table.containers.contains { mount in
            identifierOfMount(at: mount.mountpoint).map { ContainerName($0) } == name
        }
        return .failure(isLeftOut ? .leftOut(identifier) : .notMounted(identifier))
    }

    private static func entry(_ container: MountedContainer) -> Entry? {
        identifierOfMount(at: container.mountpoint).map { Entry(container: container, identifier: $0) }
    }

    /// `nil` when its daemon has ended.
    private static func identifierOfMount(at mountpoint: String) -> String? {
        do throws(FileError) {
            return try ExtendedAttribute.control("containerIdentifier", of: mountpoint)
        } catch {
            return nil
        }
    }

    /// The last reason that was logged: a program that asks again and again gets one line for each change.
    private static let logged = Mutex<Absence?>(nil)

    static func log(_ absence: Absence) {
        let isNew = logged.withLock { last in
            defer { last = absence }
            return last != absence
        }
        if isNew { NSLog("%@", "url(forUbiquityContainerIdentifier:) is nil: \(absence)") }
    }
}
