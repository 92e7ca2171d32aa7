/// Where in an event a reader is, in one byte or two: it is noted with every field, but spelt out only in a rejection.
enum FieldPath: Equatable {
    /// The record's value itself.
    case value
    /// A field of the producer's own.
    case foreign
    case field(EventField)
    /// Inside `to`.
    case target(TargetField)
    /// Inside `alert`.
    case alert(AlertField)
    /// Inside the object that `title` or `body` of an alert may be.
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
