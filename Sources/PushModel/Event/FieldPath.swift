/// A reader's position in an event, in one or two bytes. It is set for every field, but becomes a text only for a
/// rejection.
enum FieldPath: Equatable {
    /// The record's value itself.
    case value
    /// A field that Mailboat does not know.
    case foreign
    case field(EventField)
    /// A field inside `to`.
    case target(TargetField)
    /// A field inside `alert`.
    case alert(AlertField)
    /// A field inside `title` or `body` of an alert, if that is an object.
    case localizedKey(AlertField), localizedArguments(AlertField)

    var text: StaticString {
        switch self {
        case .value: "value"
        case .foreign: "x-…"
        case .field(let field): field.name
        case .target(let field): field.path
        case .alert(let field): field.path
        case .localizedKey(.title): "alert.title.loc-key"
        case .localizedKey: "alert.body.loc-key"
        case .localizedArguments(.title): "alert.title.loc-args"
        case .localizedArguments: "alert.body.loc-args"
        }
    }
}
