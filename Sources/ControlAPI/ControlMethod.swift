/// The method of an HTTP request.
package enum ControlMethod: String, Sendable { case get = "GET", post = "POST" }
