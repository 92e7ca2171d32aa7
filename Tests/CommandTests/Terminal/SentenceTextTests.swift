import CommandSupport
import Testing

/// Tests that joined texts never have two punctuation marks in a row.
@Suite struct SentenceTextTests {
    @Test(arguments: [("it is late", "it is late."), ("Is it?", "Is it?"), ("It is.", "It is."), ("Go!", "Go!")])
    func aSentenceEndsOnce(text: String, closed: String) { #expect(SentenceText.closed(text) == closed) }

    @Test func aListGoesOnAfterASentence() {
        #expect(SentenceText.list(["rejected", "Did you mean “id”?", "of 3"]) == "rejected, Did you mean “id”? of 3")
        #expect(SentenceText.list(["one"]) == "one" && SentenceText.list([]).isEmpty)
    }

    /// If a failure's text ends with a question mark, the advice follows without a full stop.
    @Test func adviceFollowsAQuestion() {
        #expect(
            "\(CommandFailure("no topic t; did you mean u?", advice: "try it"))" == "no topic t; did you mean u? try it"
        )
        #expect("\(CommandFailure("it is closed", advice: "try it"))" == "it is closed. try it")
    }
}
