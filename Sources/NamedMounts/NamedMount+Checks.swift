import Daemon
import Foundation

/// A reason why a mount could not be mounted as it is written.
struct MountMistake: Equatable {
    let key: NamedMount.Key
    /// The index of the wrong text in an array.
    var element: Int?
    let sentence: String
}

extension NamedMount {
    /// Everything that is wrong with it, as far as that can be known without its store.
    func mistakes(in surroundings: MountSurroundings) -> [MountMistake] {
        var mistakes = textMistakes()
        guard mistakes.isEmpty else { return mistakes }
        mistakes += locationMistakes(surroundings) + pathMistakes(surroundings)
        for (index, pattern) in ignore.enumerated() {
            guard let problem = IgnoreOption.problem(with: pattern) else { continue }
            mistakes.append(MountMistake(key: .ignore, element: index, sentence: problem))
        }
        for (index, option) in options.enumerated() {
            do throws(DaemonOptions.Problem) {
                _ = try DaemonOptions(option)
            } catch {
                mistakes.append(MountMistake(key: .options, element: index, sentence: error.description))
            }
        }
        return mistakes
    }

    /// Texts that no value may be: empty, or with characters that a terminal or a list of arguments cannot take.
    private func textMistakes() -> [MountMistake] {
        let single: [(Key, String?)] = [
            (.url, url), (.mountpoint, mountpoint), (.endpoint, endpoint), (.region, region), (.deviceName, deviceName),
            (.state, state),
        ]
        var texts: [(key: Key, element: Int?, text: String)] = single.compactMap { key, text in
            text.map { (key, nil, $0) }
        }
        texts += options.enumerated().map { (.options, $0.offset, $0.element) }
        texts += ignore.enumerated().map { (.ignore, $0.offset, $0.element) }
        return texts.compactMap { key, element, text in
            if text.isEmpty {
                return MountMistake(
                    key: key, element: element, sentence: "\(key.rawValue) has an empty text; remove it")
            }
            guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return nil }
            return MountMistake(key: key, element: element, sentence: "\(key.rawValue) has a control character")
        } + nameMistakes()
    }

    private func nameMistakes() -> [MountMistake] {
        guard let deviceName, deviceName.utf8.count > Self.deviceNameByteLimit else { return [] }
        return [
            MountMistake(
                key: .deviceName, sentence: "the device name must have 1 to \(Self.deviceNameByteLimit) bytes")
        ]
    }

    private func locationMistakes(_ surroundings: MountSurroundings) -> [MountMistake] {
        do throws(DaemonError) {
            try ContainerLocation(url: url, endpoint: endpoint, region: region).check(variables: surroundings.variables)
            return []
        } catch {
            return [MountMistake(key: .url, sentence: error.description)]
        }
    }

    private func pathMistakes(_ surroundings: MountSurroundings) -> [MountMistake] {
        func absence(_ key: Key, _ path: String) -> MountMistake {
            MountMistake(
                key: key, sentence: "\(key.rawValue) must be an absolute path, or begin with ~/, not \(path)")
        }
        guard let place = surroundings.place(mountpoint) else { return [absence(.mountpoint, mountpoint)] }
        if place == "/" {
            return [MountMistake(key: .mountpoint, sentence: "nothing can be mounted on /; choose another directory")]
        }
        if let state {
            guard let directory = surroundings.place(state) else { return [absence(.state, state)] }
            if PathRelation(directory, place) != .apart {
                return [
                    MountMistake(
                        key: .state,
                        sentence: "the state directory \(directory) and the mountpoint \(place) must not contain each "
                            + "other; choose another state directory")
                ]
            }
        }
        return containerMistakes(place)
    }

    /// A mount would cover the directory in which its own container is stored, or write into it.
    private func containerMistakes(_ place: String) -> [MountMistake] {
        guard let directory = ContainerLocation.directory(of: url), PathRelation(directory, place) != .apart
        else { return [] }
        return [
            MountMistake(
                key: .mountpoint,
                sentence: "the mountpoint \(place) and the directory \(directory) that stores the container must not "
                    + "contain each other; choose another mountpoint")
        ]
    }

    /// Why it cannot be beside another mount of the same file.
    func conflict(with other: NamedMount, in surroundings: MountSurroundings) -> MountMistake? {
        let (place, taken) = (surroundings.mountpoint(of: self), surroundings.mountpoint(of: other))
        switch PathRelation(place, taken) {
        case .same:
            return MountMistake(
                key: .mountpoint,
                sentence: "\(place) is already the mountpoint of the mount \(other.name); choose another directory")
        case .inside:
            return MountMistake(
                key: .mountpoint,
                sentence: "\(place) is inside \(taken), the mountpoint of the mount \(other.name); choose a directory "
                    + "outside of it")
        case .around:
            return MountMistake(
                key: .mountpoint,
                sentence: "\(place) contains \(taken), the mountpoint of the mount \(other.name); choose a directory "
                    + "beside it")
        case .apart: break
        }
        let (state, used) = (surroundings.state(of: self), surroundings.state(of: other))
        if let state, let used, PathRelation(state, used) != .apart {
            return MountMistake(
                key: .state,
                sentence: "the state directory \(state) is used by the mount \(other.name); each mount is a device of "
                    + "its own: choose another state directory")
        }
        if url == other.url, state == nil, used == nil {
            return MountMistake(
                key: .url,
                sentence: "the mount \(other.name) has the container \(url) already; a second one on this machine is a "
                    + "device of its own: give it a state directory (--state DIR, or state in the file)")
        }
        return nil
    }
}
