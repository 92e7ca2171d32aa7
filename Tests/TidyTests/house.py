#!/usr/bin/env python3
"""Counts how far the engine is from a house of machines: `make house`. Each row is a number that only shrinks, its ceiling beside it, and where it is to end.

  Tests/TidyTests/house.py [--check | --lower] [--places] [TREE]

TREE is a checkout of the project, by default the one that the script lies in. Ceilings stand in `house.json` beside the script; of state that others than its own type write, one
for each file that does. With `--check` exit status 1 when something is over its ceiling: `HouseTests` calls it so. With `--lower` ceilings become what is counted, where that is less: to be
done in the commit that brings it down. With `--places` the places behind each row are named.
"""

import argparse
import collections
import dataclasses
import json
import pathlib
import re
import sys

ENGINE = "Sources/PushEngine"
CEILINGS = pathlib.Path(__file__).resolve().with_name("house.json")
# Where the state of fan-out may be written: the files of its own types, by their names.
CROWD_ROOM = re.compile(r"/(Crowd\w*|Crowd\+\w+|CrowdTable\+\w+|Pass|Pass\+\w+|StartRound|StartRound\+\w+|RetrySet|StartRetries|PassMarks|RollUp)\.swift$|^Sources/FanOut/")
FAN_OUT = re.compile(r"^Sources/(?:PushEngine/)?FanOut/")
ROUND_ROOM = re.compile(r"/(Pass|Pass\+\w+|StartRound|StartRound\+\w+|Round|Round\+\w+)\.swift$")
OWNER_ROOM = re.compile(r"/(AudienceOwners?|AudienceChannels?|Publication|VersionLedger|RollUp)(\+\w+)?\.swift$")
PARTITION_ROOM = re.compile(r"/(PartitionState|PartitionTable|FormerOwners)(\+\w+)?\.swift$")
# Fields of a crowd whose types own their state as a crowd does: a call of their methods is a call, as a call of a crowd's own is, and what lies in them no other file can write.
CROWD_PARTS = {"records", "reports", "starts"}
# Parts of an owner and of a partition. In other files nobody is lent one.
OWNER_PARTS = ("AudienceOwners?", r"AudienceOwner\.Publication", "AudienceChannels", r"AudienceChannels\.Channel", "AudienceBudget", "VersionLedger", "RollUps?")
PARTITION_PARTS = ("PartitionState", "PartitionTable", "FormerOwners", "VoidPositions")
# What changes a value of the standard library in place; the engine's own `mutating` functions are found.
CHANGES = {"append", "insert", "remove", "removeAll", "removeFirst", "removeLast", "removeValue", "removeSubrange", "popLast", "popFirst", "swapAt", "sort", "reverse",
           "formUnion", "subtract", "toggle", "merge", "reserveCapacity"}
ASSIGNED = r"(?:&?[-+*|]|&|\||<<|>>)?= "


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    goal: str
    # Each place that is counted, by its file and line.
    places: list
    # There is a ceiling for each file.
    by_file: bool = False
    # The ceiling is rounded up to a multiple of it: a repair may add a line.
    grain: int = 1

    @property
    def counts(self):
        """What has a ceiling, and how much of it there is."""
        if not self.by_file:
            return {"all": len(self.places)}
        return dict(sorted(collections.Counter(entry.rsplit(":", 1)[0] for entry in self.places).items()))


class Tree:
    """The sources of a checkout, without comments and texts: what is counted is code."""

    def __init__(self, root):
        self.files = {}
        self.comments = {}
        for folder in (ENGINE, "Sources/FanOut", "Sources/Records", "Sources/ChannelKeeping"):
            for path in sorted((root / folder).rglob("*.swift")):
                text = path.read_text(encoding="utf-8")
                name = path.relative_to(root).as_posix()
                self.files[name] = code(text)
                self.comments[name] = text

        self.changes = CHANGES | {name for text in self.engine().values() for name in re.findall(r"\bmutating func (\w+)", text)}

    def engine(self):
        return {name: text for name, text in self.files.items() if name.startswith((ENGINE, "Sources/FanOut"))}


def code(text):
    """Comments and texts become blanks; lines and columns stay where they are."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    text = re.sub(r"//[^\n]*", blank, text)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', blank, text)


def place(name, text, index):
    return f"{name}:{text.count(chr(10), 0, index) + 1}"


def closing(text, index):
    """Behind the bracket that closes the one at `index`."""
    depth = 0
    for at in range(index, len(text)):
        if text[at] in "[(":
            depth += 1
        elif text[at] in "])":
            depth -= 1
            if depth == 0:
                return at + 1
    return len(text)


def chains(text, head):
    """Each access that begins with `head[…]`: where it stands, whether it is lent, and the names behind it with what follows the last."""
    for match in re.finditer(r"(&?)(?:\bself\.)?(?:\b\w+\.)*?\b" + head + r"\[", text):
        at = closing(text, match.end() - 1)
        names = []
        while True:
            name = re.compile(r"[?!]?\s*\.(\w+)").match(text, at)
            if not name:
                break
            names.append(name.group(1))
            at = name.end()
            while at < len(text) and text[at] == "[":
                at = closing(text, at)
        yield match.start(), bool(match.group(1)), names, text[at:at + 8]


def body(text, declaration):
    """What stands between the braces of a type."""
    begin = re.search(declaration, text, re.MULTILINE)
    if not begin:
        return ""
    depth = 0
    for at in range(begin.end() - 1, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin.end():at]
    return ""


def stored_fields(text, declaration):
    """Stored properties of a type: those of its own indentation that no brace follows."""
    return re.findall(r"^    (?:private\(set\) |private |fileprivate )?var (\w+)(?::[^={\n]*)?(?: = [^\n]*)?$", body(text, declaration), re.MULTILINE)


def is_written(changes, is_lent, names, behind, own=1):
    """Whether an access changes what it names: it is assigned, lent, or changed by a call. A method of the type itself does not count: `own` names lie before it."""
    if is_lent or re.match(r" " + ASSIGNED, behind):
        return True
    return len(names) > own and behind.startswith("(") and names[-1] in changes


def extensions(tree, kind):
    return [name for name, text in tree.engine().items() if re.search(r"^(?:public )?(?:extension|struct) " + kind + r"\b", text, re.MULTILINE)]


def lines_of(tree, names):
    return [f"{name}:{line}" for name in names for line in range(tree.comments[name].count(chr(10)))]


def crowd_accesses(tree):
    crowd = next((text for name, text in tree.files.items() if re.search(r"^(?:public )?struct Crowd\b", text, re.MULTILINE)), "")
    fields = set(stored_fields(crowd, r"^(?:public )?struct Crowd\b[^{]*\{"))
    return [
        place(name, text, at)
        for name, text in tree.engine().items() if not CROWD_ROOM.search(name)
        for at, _, names, _ in chains(text, "crowds") if names and names[0] in fields]


def foreign_writes(tree):
    """By type: where a stored field of it is written by files that are not its own."""
    written = {"Crowd": [], "Round": [], "AudienceOwner": [], "PartitionState": []}
    for name, text in tree.engine().items():
        for at, is_lent, names, behind in chains(text, "crowds"):
            rounds = next((index for index, part in enumerate(names) if part in ("passes", "rounds")), None)
            if rounds is not None and len(names) > rounds + 1:
                if not ROUND_ROOM.search(name) and is_written(tree.changes, is_lent, names, behind, own=rounds + 2):
                    written["Round"].append(place(name, text, at))
            elif names and not CROWD_ROOM.search(name) and is_written(tree.changes, is_lent, names, behind, own=2 if names[0] in CROWD_PARTS else 1):
                written["Crowd"].append(place(name, text, at))
        for kind, room, head, parts in (("AudienceOwner", OWNER_ROOM, "owners", OWNER_PARTS), ("PartitionState", PARTITION_ROOM, "partitions", PARTITION_PARTS)):
            if not room.search(name):
                written[kind] += owned_writes(tree, name, text, head, parts)
    return written


def owned_writes(tree, name, text, head, parts):
    """Where a file writes what lies in `head[…]`, or takes it whole, or is lent it or a part of it. Of a copy in a variable only the compiler knows; its fields are `private(set)`."""
    at_places = [at for at, is_lent, names, behind in chains(text, head) if is_written(tree.changes, is_lent, names, behind)]
    at_places += [match.start() for match in re.finditer(r"\binout (?:" + "|".join(parts) + r")\b(?!\.)", text)]
    return [place(name, text, at) for at in at_places]


# The records of `state` and of `routed`, and parts that several have: the types that write and read each. A type that stands inside another is found by its own name, too.
LAYOUTS = {
    "activity, channel, audience": ["SlotRecord"], "update": ["Update"], "layer": ["Layer"], "marker": ["MarkerRecord"], "book": ["AudienceOwner"],
    "publication": ["AudienceOwner.Publication"], "ledger": ["VersionLedger"], "channels of an audience": ["AudienceChannels"], "member": ["MemberRecord"], "versions": ["VersionsRecord"],
    "version": ["Version"], "progress": ["PassesRecord"], "pass": ["PassesRecord.PassPart"], "voided": ["VoidedRecord"], "paused": ["PausedRecord"],
    "start member": ["StartMemberRecord"], "start progress": ["StartProgressRecord"], "round": ["StartProgressRecord.Round"], "start order": ["StartOrder"],
    "kept channel": ["KeptChannelCodec", "KeptChannel"], "report of a version": ["CrowdReport"], "report of a start": ["StartReport"], "refusals": ["RefusalCounts"],
    "listeners": ["ListenerCounts"], "question": ["BusRecord.Question"], "void": ["BusRecord.Void"], "report": ["BusRecord.Report"], "pause": ["BusRecord.Pause"],
    "versions told": ["BusRecord.Versions"], "channel wish": ["BusRecord.ChannelWish"], "channel news": ["BusRecord.ChannelNews"], "kept question": ["BusRecord.KeptQuestion"],
    "kept answer": ["BusRecord.KeptAnswer"],
}
RECORD_ROOM = re.compile(r"/Records/")
WRITES = re.compile(r"\bfunc write\(")
READS = re.compile(r"\binit\(\s*_ (?:reader|value)\b|\bfunc read\(")
DESCRIBES = re.compile(r"\bdescribed\b[^\n]*(?:\n[^\n{]*)?\{")
# What lays out bytes, wherever it stands; a size that is worked out by hand; a table in words.
PRIMITIVE = re.compile(r"\b(?:writer|cursor|reader|run|\$0)\.(?:byte|unsigned|signed|optional|word|run|runRange|count)\((?!where)")
SIZE = re.compile(r"(?:func|var) (?:\w*B|b)yteCountMax\b[^=\n]*\{|leb128ByteCountMax")
TABLE = re.compile(r"^ *///  +\w[\w, ]*?  +\S|^ */// ```", re.MULTILINE)


def own_files(tree, kind):
    """Files in which a type is declared or extended, and what stands there between its braces."""
    name = kind.rsplit(".", 1)[-1]
    head = re.compile(r"^(?:public )?(?:struct|enum|extension) " + re.escape(kind) + r"\b[^{\n]*\{|^    (?:public )?struct " + name + r"\b[^{\n]*\{", re.MULTILINE)
    for file, text in tree.files.items():
        for match in head.finditer(text):
            if match.group().startswith(" ") and ("." not in kind or not re.search(r"\b(?:struct|enum|extension) " + kind.split(".")[0] + r"\b", text)):
                continue
            yield file, body(text[match.start():], r"\A[^{]*\{")


def layout_places(tree):
    """Where a record's layout stands beyond the one place that it needs: the file that writes and reads it, and describes what was read."""
    beyond = []
    for record, kinds in LAYOUTS.items():
        parts = {pattern: {file for kind in kinds for file, inside in own_files(tree, kind) if pattern.search(inside)} for pattern in (WRITES, READS, DESCRIBES)}
        if not parts[WRITES] or not parts[READS]:
            # Rather too many than that it looks better for a name that has changed.
            beyond += [f"{record}: nobody writes or reads it as the script knows it"] * 5
            continue
        beyond += [f"{record}: {file}" for file in sorted(set().union(*parts.values()))[1:]]
    for file, text in tree.files.items():
        if not RECORD_ROOM.search(file):
            beyond += [f"bytes laid out elsewhere: {file}"] if PRIMITIVE.search(text) else []
            continue
        beyond += [f"a size by hand: {place(file, text, match.start())}" for match in SIZE.finditer(text)]
        beyond += [f"a table in words: {file}"] if TABLE.search(tree.comments[file]) else []
    return beyond


def found(tree, pattern):
    return [place(name, text, match.start()) for name, text in tree.engine().items() for match in re.finditer(pattern, text)]


def crowd_bools(tree):
    for name, text in tree.engine().items():
        inside = body(text, r"^(?:public )?struct Crowd\b[^{]*\{")
        if inside:
            return [f"{name}: {field}" for field in re.findall(r"^    (?:private\(set\) |private )?var (\w+)(?:: Bool)? = (?:false|true)$", inside, re.MULTILINE)]
    return []


def rows(tree):
    extending = extensions(tree, "ShardEngine")
    written = foreign_writes(tree)
    return [
        Row("files that extend ShardEngine", "24", extending),
        Row("their lines", "4,500", lines_of(tree, extending), grain=250),
        Row("files that extend FanOut", "-", extensions(tree, "FanOut")),
        Row("lines of files that extend FanOut", "-", lines_of(tree, extensions(tree, "FanOut")), grain=250),
        Row("accesses to a crowd's stored fields from outside fan-out's folder", "0", [entry for entry in crowd_accesses(tree) if not FAN_OUT.search(entry)]),
        Row("accesses to a crowd's stored fields by other files of fan-out", "0", [entry for entry in crowd_accesses(tree) if FAN_OUT.search(entry)]),
        *(Row(f"writes of {kind}'s state by files of other types", "0", places, by_file=True) for kind, places in written.items()),
        Row("state of the five types without one owner", "0", [kind for kind, places in written.items() if places]),
        Row("places where a record's layout stands, beyond one each", "0", layout_places(tree)),
        Row("switches over Verdict", "2", found(tree, r"\bswitch (?:\w+\.)*verdict\b(?!\.)") + verdict_switches(tree)),
        Row("fillers of PushRequest", "1", found(tree, r"\brequest\.apnsID = |\bself\.apnsID = \w+\s+self\.target\b")),
        Row("places that count inFlight", "1", found(tree, r"\bcounters\.inFlight \+= ")),
        Row("Bools that together say where a crowd stands", "0", crowd_bools(tree)),
    ]


def verdict_switches(tree):
    """In extensions of it."""
    return [
        place(name, text, match.start())
        for name, text in tree.engine().items()
        for match in re.finditer(r"\bswitch self\b", text)
        if re.search(r"^extension Verdict \{(?:(?!^\}).)*\Z", text[:match.start()], re.MULTILINE | re.DOTALL)]


def read_ceilings():
    return json.loads(CEILINGS.read_text(encoding="utf-8")) if CEILINGS.exists() else {}


def over(row, ceilings):
    """What is over its ceiling; a file that is not named has none."""
    return {what: count for what, count in row.counts.items() if count > ceilings.get(row.name, {}).get(what, 0)}


def lower(table, ceilings):
    def lowered(row):
        former = ceilings.get(row.name)
        rounded = {what: -(-count // row.grain) * row.grain for what, count in row.counts.items()}
        return {what: count if former is None else min(count, former.get(what, 0)) for what, count in rounded.items()}

    text = json.dumps({row.name: {what: count for what, count in lowered(row).items() if count or not row.by_file} for row in table}, indent=2)
    CEILINGS.write_text(text + chr(10), encoding="utf-8")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("tree", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2], metavar="TREE")
    arguments.add_argument("--check", action="store_true", help="fail when something is over its ceiling")
    arguments.add_argument("--lower", action="store_true", help="lower ceilings to what is counted")
    arguments.add_argument("--places", action="store_true", help="name the places behind each row")
    asked = arguments.parse_args()
    table = rows(Tree(asked.tree))
    if not table[0].places:
        sys.exit(f"{asked.tree} has no engine")
    ceilings = read_ceilings()
    if asked.lower:
        lower(table, ceilings)
        ceilings = read_ceilings()
    faulty = [row for row in table if over(row, ceilings)]
    for row in faulty if asked.check else table:
        print(f"{len(row.places):>6,}  at most {sum(ceilings.get(row.name, {}).values()):>6,}, in the end {row.goal:>5}  {row.name}")
        if asked.check and row.by_file:
            for what, count in over(row, ceilings).items():
                print(f"            {count} in {what}, at most {ceilings.get(row.name, {}).get(what, 0)}")
        if asked.places:
            for entry in dict.fromkeys(row.places):
                print(f"            {entry}")
    sys.exit(1 if asked.check and faulty else 0)


if __name__ == "__main__":
    main()
