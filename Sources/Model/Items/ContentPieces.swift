extension Content {
    /// The pieces of a content, computed on demand: a hole of terabytes costs no more than its run.
    ///
    /// Requires a valid content: every chunk before the last one of the file is ``chunkByteCount`` long.
    package struct Pieces: Sendable {
        private let runs: [Run]
        /// The number of each run's first piece, followed by the total number of pieces.
        private let starts: [Int]

        init(runs: [Run]) {
            self.runs = runs
            var starts = [0]
            starts.reserveCapacity(runs.count + 1)
            for run in runs {
                let count =
                    switch run {
                    case .stored(_, _, let chunks): chunks.count
                    case .zeros(let byteCount):
                        Int(byteCount / Int64(chunkByteCount)) + (byteCount % Int64(chunkByteCount) > 0 ? 1 : 0)
                    }
                starts.append(starts[starts.count - 1] + count)
            }
            self.starts = starts
        }

        /// The run that contains a piece.
        private func run(of index: Int) -> Int {
            var low = 0
            var high = runs.count
            // starts[low] <= index < starts[high]
            while high - low > 1 {
                let middle = low + (high - low) / 2
                if starts[middle] <= index { low = middle } else { high = middle }
            }
            return low
        }
    }
}

extension Content.Pieces: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { starts[starts.count - 1] }

    package subscript(index: Int) -> Content.Piece {
        precondition(indices.contains(index), "there is no such piece")
        let run = run(of: index)
        let place = index - starts[run]
        let start = Int64(place) * Int64(Content.chunkByteCount)
        switch runs[run] {
        case .stored(let pack, let offset, let chunks):
            let chunk = chunks[place]
            return Content.Piece(
                index: index, byteCount: chunk.byteCount,
                stored: .init(hash: chunk.hash, pack: pack, offset: offset + start, head: chunk.head))
        case .zeros(let byteCount):
            let rest = Int(Swift.min(byteCount - start, Int64(Content.chunkByteCount)))
            return Content.Piece(index: index, byteCount: rest, stored: nil)
        }
    }
}
