/// A failure that is not the command line's fault (a file, a cluster). It is printed as it is, with exit status 1.
package struct CommandFailure: Error, CustomStringConvertible {
    /// What failed, in one line.
    package let text: String
    /// What to try, in a sentence without a full stop; empty: the text says it, or nothing is known.
    package let advice: String
    /// The text for a person.
    package var description: String {
        self.advice.isEmpty ? self.text : "\(SentenceText.closed(self.text)) \(self.advice)"
    }

    package init(_ text: String, advice: String = "") { (self.text, self.advice) = (text, advice) }
}
