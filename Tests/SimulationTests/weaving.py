"""Weaves many patches into one tree, so that one build holds them all and a variable of the environment chooses which one is played.

The body of a function, an initializer or an accessor that encloses the old text becomes `if mutationPlayed == 7 { patched body } else { body }`. A patch outside of
any such body cannot be woven: it needs a build of its own. Nothing here touches a file: texts come in, texts go out.
"""

import os
import re

VARIABLE = "MAILBOAT_MUTATION"
# One file for each module with a woven body. It names no type of the module, so that it compiles in each.
SWITCH_FILE = "MutationPlayed.swift"
SWITCH = f"""import Glibc

/// Number of the mutation that this process plays. 0: the unbroken code.
@usableFromInline let mutationPlayed: Int32 = unsafe getenv("{VARIABLE}").map {{ unsafe atoi($0) }} ?? 0
"""

ACCESSORS = r"(?:get|set|_read|_modify|willSet|didSet)\b"
# What can stand in front of an accessor's name.
ACCESSOR_FIRST = re.compile(r"\s*(?:@[\w().]+\s+|(?:mutating|nonmutating)\s+)*" + ACCESSORS)
DECLARATION = re.compile(r"(?<![.\w`])(?:(func|init|subscript|deinit)\b|(var)\s+`?\w+`?\s*:|(" + ACCESSORS + r")\s*(?:\(\s*\w+\s*\)\s*)?(?=\{))")
# A declaration that has no body ends where the next one begins.
NEXT = re.compile(r"(?<![.\w`])(?:func|var|let|init|subscript|deinit|case|struct|enum|class|actor|extension|protocol|typealias)\b")


def masked(source):
    """The source with blanks in place of each character of its comments and of its strings, interpolations too; as long as the source."""
    result = list(source)
    at = 0
    while at < len(source):
        end = literal_end(source, at)
        if end == at:
            at += 1
            continue
        for index in range(at, end):
            if source[index] != "\n":
                result[index] = " "
        at = end
    return "".join(result)


def literal_end(source, at):
    """The end of the comment or string that begins here; `at` itself, if none does."""
    if source.startswith("//", at):
        end = source.find("\n", at)
        return len(source) if end < 0 else end
    if source.startswith("/*", at):
        depth, at = 1, at + 2
        while depth:
            sign = re.compile(r"/\*|\*/").search(source, at)
            if not sign:
                raise ValueError("a comment does not end")
            depth += 1 if sign[0] == "/*" else -1
            at = sign.end()
        return at
    opening = re.compile(r'(#*)("""|")').match(source, at)
    return string_end(source, opening) if opening else at


def string_end(source, opening):
    hashes, quotes = opening[1], opening[2]
    at = opening.end()
    while True:
        if at >= len(source) or (quotes == '"' and source[at] == "\n"):
            raise ValueError(f"the string at {opening.start()} does not end")
        if source.startswith(quotes + hashes, at):
            return at + len(quotes + hashes)
        if not source.startswith("\\" + hashes, at):
            at += 1
            continue
        at += 1 + len(hashes)
        if source[at] != "(":
            at += 1
            continue
        # An interpolation holds code, which may hold strings.
        depth = 0
        while True:
            inner = literal_end(source, at)
            if inner > at:
                at = inner
                continue
            depth += {"(": 1, ")": -1}.get(source[at], 0)
            at += 1
            if depth == 0:
                break


def closing(code, opening):
    """Where the brace that opens at `opening` closes, in masked code."""
    depth = 0
    for sign in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if sign[0] == "{" else -1
        if depth == 0:
            return sign.start()
    raise ValueError(f"the brace at {opening} does not close")


def bodies(source):
    """The bodies of functions, initializers and accessors, each as the range between its braces."""
    code = masked(source)
    found = []
    for declaration in DECLARATION.finditer(code):
        is_variable = declaration[2] is not None
        if is_variable and re.search(r"(?:\b(?:if|guard|while|for|case)|[,(])\s*$", code[:declaration.start()]):
            continue
        opening = body_opening(code, declaration.end(), is_variable)
        if opening is None:
            continue
        # A body that begins with an accessor is none: its accessors have their own.
        has_accessors = (is_variable or declaration[1] == "subscript") and ACCESSOR_FIRST.match(code, opening + 1)
        if not has_accessors:
            found.append((opening + 1, closing(code, opening)))
    return found


def body_opening(code, at, is_variable):
    """The brace that opens the body of the declaration whose head goes on at `at`; `None`: it has no body."""
    depth = 0
    while at < len(code):
        sign = code[at]
        if sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        elif depth == 0 and sign == "{":
            return at
        elif depth == 0 and (sign == "}" or (is_variable and sign == "=") or NEXT.match(code, at)):
            return None
        if depth < 0:
            return None
        at += 1
    return None


def difference(source, old, new):
    """What a patch changes: where, and what comes there. What `old` and `new` have in common on both sides is none of it."""
    start, end = source.index(old), source.index(old) + len(old)
    front = len(os.path.commonprefix([old, new]))
    back = len(os.path.commonprefix([old[front:][::-1], new[front:][::-1]]))
    return start + front, end - back, new[front:len(new) - back]


def woven(source, patches):
    """The source with those patches woven in that can be, and the numbers of the others. `patches`: number, old text, new text of each."""
    all_bodies = bodies(source)
    homes, homeless = {}, []
    for number, old, new in patches:
        change = difference(source, old, new)
        around = [body for body in all_bodies if body[0] <= change[0] and change[1] <= body[1]]
        if around:
            homes.setdefault(max(around), []).append((number, change))
        else:
            homeless.append(number)
    # A body within one that is woven too goes with it.
    for inner in sorted(homes, reverse=True):
        outer = [body for body in homes if body[0] < inner[0] and inner[1] <= body[1]]
        if outer:
            homes[max(outer)] += homes.pop(inner)
    for start, end in sorted(homes, reverse=True):
        chain = "".join(
            f"if mutationPlayed == {number} {{{source[start:first]}{new}{source[last:end]}}} else "
            for number, (first, last, new) in homes[start, end])
        source = f"{source[:start]} {chain}{{{source[start:end]}}} {source[end:]}"
    return source, homeless


SAMPLE = r'''struct Sample {
    // A brace in a comment: { and /* one more { */
    var text = "a \(self.names.map { "\($0) }" }) {"
    let raw = #"{ " \("#, long = """
        { "quoted" \(1 + (2)) {{
        """
    @inline(__always) var one: Int { self.text.isEmpty ? 1 : 2 }
    var two: Int {
        get { 3 }
        set { self.text = "}" }
    }
    init(_ make: () -> Int = { 4 }) { self.text = "\(make())" }
    func outer<T>(_ names: [T]) throws(Failure) -> Int where T: Sendable {
        func inner() -> Int { 5 }
        if var first = names.first { first = names[6]; return inner() }
        return 7
    }
}
'''


def check():
    """Weaves a sample, which holds what could mislead the search for braces. Raises when something else than expected comes of it."""
    ranges = [SAMPLE[start:end].strip() for start, end in sorted(bodies(SAMPLE))]
    heads = [text.split("\n")[0] for text in ranges]
    expected = [
        "self.text.isEmpty ? 1 : 2", "3", 'self.text = "}"', r'self.text = "\(make())"', "func inner() -> Int { 5 }", "5"]
    assert heads == expected, f"other bodies than expected: {heads}"
    text, homeless = woven(SAMPLE, [(1, "{ 4 }", "{ 8 }"), (2, "{ 3 }", "{ 9 }"), (3, " 5 ", " 10 "), (4, "names[6]", "names[11]")])
    assert homeless == [1], f"not woven: {homeless}"
    for part in ["get { if mutationPlayed == 2 { 9 } else { 3 } }", "{ if mutationPlayed == 4 {\n", "names[11]; return", "} else if mutationPlayed == 3 {\n"]:
        assert text.count(part) == 1, f"{part} stands {text.count(part)} times in:\n{text}"
    assert text.count(" 10 ") == 1 and text.count("mutationPlayed") == 3 and text.count("names[6]") == 2, text
