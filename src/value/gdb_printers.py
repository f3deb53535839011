"""Shows stategraph's types in gdb as text: Value, CheckpointId, TaskId, ThreadId, Update and snapshots.

It is a part of every program that links the library (the section .debug_gdb_scripts, see src/value/ids.cpp), and is
installed as share/stategraph/gdb_printers.py, for `source` in gdb. A text is cut after 1,000 characters.
"""
import json
import re
import struct

import gdb
import gdb.printing

LENGTH_MAX = 1000
DEPTH_MAX = 256
KINDS = {"=": "set", "+": "add", "!": "overwrite", "w": "write", "-": "clear"}


def bytes_of(text):
    """The bytes of a std::string of libstdc++ or libc++, at most as many as make a long text."""
    try:
        start, size = text["_M_dataplus"]["_M_p"], int(text["_M_string_length"])
    except gdb.error:
        representation = text["__r_"]["__value_"] if "__value_" in str(text["__r_"].type.fields()) else text["__rep_"]
        short = representation["__s"]
        is_long = bool(int(short["__is_long_"]))
        start = representation["__l"]["__data_"] if is_long else short["__data_"].address
        size = int(representation["__l"]["__size_"] if is_long else short["__size_"])
    if size == 0:
        return b""
    return gdb.selected_inferior().read_memory(int(start), min(size, 16 * LENGTH_MAX)).tobytes()


class Reader:
    """Reads CBOR (RFC 8949) as the library writes it: definite lengths, no tags."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise EOFError
        self.at += count
        return self.data[self.at - count:self.at]

    def item(self, depth=0):
        head = self.take(1)[0]
        kind, low = head >> 5, head & 31
        number = low
        if 24 <= low <= 27:
            raw = self.take(1 << (low - 24))
            number = int.from_bytes(raw, "big")
        elif low > 27 or depth > DEPTH_MAX:
            raise ValueError
        if kind == 7:
            if low in (25, 26, 27):
                return repr(struct.unpack({25: ">e", 26: ">f", 27: ">d"}[low], raw)[0])
            return {20: "false", 21: "true", 22: "null"}[low]
        if kind < 2:
            return str(number if kind == 0 else -1 - number)
        if kind == 2:
            return "bytes(" + self.take(number).hex() + ")"
        if kind == 3:
            return json.dumps(self.take(number).decode("utf-8", "replace"), ensure_ascii=False)
        if kind == 4:
            return "[" + ",".join(self.item(depth + 1) for _ in range(number)) + "]"
        if kind == 5:
            return "{" + ",".join(self.item(depth + 1) + ":" + self.item(depth + 1) for _ in range(number)) + "}"
        raise ValueError


def cut(text):
    return text if len(text) <= LENGTH_MAX else text[:LENGTH_MAX] + "…"


def json_of(data):
    if not data:
        return "null"
    try:
        return cut(Reader(data).item())
    except EOFError:
        return "%d bytes of CBOR, more than are shown here: call toJson()" % len(data)
    except (ValueError, KeyError, RecursionError):
        return "no CBOR: " + cut(data.hex())


def quoted(data):
    return cut(json.dumps(data.decode("utf-8", "replace"), ensure_ascii=False))


def hex_of(value):
    return "%016x%016x" % (int(value["high_"]), int(value["low_"]))


def checkpoint_id(value):
    digits = hex_of(value)
    if int(digits, 16) == 0:
        return "none"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def thread_id(value):
    size = int(value["size_"])
    text = gdb.selected_inferior().read_memory(int(value["text_"].address), size).tobytes() if size else b""
    return quoted(text)


def snapshot(value):
    config = value["config"]
    names = []
    begin, end = value["next"]["_M_impl"]["_M_start"], value["next"]["_M_impl"]["_M_finish"]
    while begin != end and len(names) < 20:
        names.append(bytes_of(begin.dereference()).decode("utf-8", "replace"))
        begin += 1
    return "thread %s, step %d, checkpoint %s, next [%s], values %s" % (
        thread_id(config["thread_id"]), int(value["step"]), checkpoint_id(config["checkpoint_id"]),
        ", ".join(names), json_of(bytes_of(value["values_as_cbor"]["bytes_"])))


def channel_names(state):
    """The names of a state's channels in the order of its table, as far as the program's debug information has it."""
    try:
        entries = gdb.parse_and_eval("stategraph::detail::channels_of<%s>" % state)["entries"]
    except gdb.error:
        return []
    names = []
    for field in entries.type.strip_typedefs().fields():
        if field.is_base_class:
            name = entries[field]["value"]["name"]
            data, size = name["_M_str"], int(name["_M_len"])
            names.append(data.string(length=size))
    return names


def type_of_operations(address):
    """The type T of the table stategraph::detail::value_ops<T> at the address."""
    found = re.match(r"\S*?(?:value_ops|kept_ops)<(.*)>(?:\s\+ \d+)? in section",
                     gdb.execute("info symbol %d" % address, to_string=True))
    return gdb.lookup_type(found[1]) if found else None


class UpdatePrinter:
    """A list of operations: children "set title", "add log"."""

    def __init__(self, value):
        self.value = value
        name = value.type.strip_typedefs().unqualified().tag or ""
        match = re.match(r"stategraph::Update<(.*)>$", name)
        self.channels = channel_names(match[1]) if match else []

    def operations(self):
        writes = self.value
        if writes.type.strip_typedefs().unqualified().tag != "stategraph::detail::Writes":
            writes = writes[writes.type.strip_typedefs().fields()[0]]
        data, offset, end = int(writes["data_"]), 0, int(writes["size_"])
        operation = gdb.lookup_type("stategraph::detail::Op")
        while offset < end:
            yield gdb.Value(data + offset).cast(operation.pointer()).dereference()
            following = int(gdb.Value(data + offset).cast(operation.pointer())["next"])
            if following <= offset:
                return
            offset = following

    def to_string(self):
        count = sum(1 for _ in self.operations())
        return "%d write%s" % (count, "" if count == 1 else "s")

    def children(self):
        for at, operation in enumerate(self.operations()):
            channel = int(operation["channel"])
            name = self.channels[channel] if channel < len(self.channels) else "channel %d" % channel
            yield "[%d] %s %s" % (at, KINDS.get(chr(int(operation["kind"])), "?"), name), self.content(operation)

    @staticmethod
    def content(operation):
        if int(operation["type"]) == 0:
            return "nothing"
        place = int(operation.address) + operation.type.sizeof
        kind = type_of_operations(int(operation["type"]))
        if kind is None:
            return "a value of an unknown type"
        if not operation["type"]["in_place"]:
            place = int(gdb.Value(place).cast(gdb.lookup_type("unsigned long").pointer()).dereference())
        value = gdb.Value(place).cast(kind.pointer()).dereference()
        if re.match(r"std::(\w+::)?basic_string<char,", str(kind.strip_typedefs())):
            return quoted(bytes_of(value))  # also where gdb does not load the printers of the C++ library
        return value


class TextPrinter:
    def __init__(self, text, value):
        self.text = text
        self.value = value

    def to_string(self):
        return self.text(self.value)


def printer_of(text):
    return lambda value: TextPrinter(text, value)


def register():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("stategraph")
    printers.add_printer("Value", "^stategraph::Value$", printer_of(lambda value: json_of(bytes_of(value["bytes_"]))))
    printers.add_printer("CheckpointId", "^stategraph::CheckpointId$", printer_of(checkpoint_id))
    printers.add_printer("TaskId", "^stategraph::TaskId$", printer_of(hex_of))
    printers.add_printer("ThreadId", "^stategraph::ThreadId$", printer_of(thread_id))
    printers.add_printer("Update", "^stategraph::(Update<.*>|detail::Writes)$", UpdatePrinter)
    printers.add_printer("Snapshot", "^stategraph::(SnapshotData|StateSnapshot<.*>)$", printer_of(snapshot))
    # Programs and shared libraries that have this script replace each other's.
    gdb.printing.register_pretty_printer(None, printers, replace=True)


register()
