/// A place for an error, as in Apple's Foundation: pass `&error` for a variable of type `NSError?`, or `nil`.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
