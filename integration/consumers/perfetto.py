"""Decodes a Perfetto trace with the protobuf library, and prints what is in it.

Usage: perfetto.py FILE. The messages are declared here, from the numbers and types of the public
.proto files, as far as a heap graph, stacks and a heap profile need them. Fails if a rule of the
importer is broken. Prints, a line each: "heap" with the time, pid, objects and bytes; "type" with
objects, bytes and name; "root" with its kind, the object's name, and the fields; "stack" with the
task and the frames; "label" with the pid; "dump" with the time and sums, and "site" with the sums and the frames.
"""

import collections
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = descriptor_pb2.FieldDescriptorProto
KINDS = {"int32": FIELD.TYPE_INT32, "uint32": FIELD.TYPE_UINT32, "uint64": FIELD.TYPE_UINT64,
         "string": FIELD.TYPE_STRING, "bytes": FIELD.TYPE_BYTES, "bool": FIELD.TYPE_BOOL}

# Of each message: name, number and type of the fields. "*" is repeated, "+" is packed.
MESSAGES = {
    "Trace": "packet 1 *TracePacket",
    "TracePacket": "process_tree 2 ProcessTree, clock_snapshot 6 Clocks, timestamp 8 uint64, "
                   "sequence 10 uint32, interned 12 Interned, flags 13 uint32, "
                   "profile 37 ProfilePacket, heap_graph 56 HeapGraph, defaults 59 Defaults, "
                   "track 60 Track, perf_sample 66 PerfSample, stack_sample 135 StackSample",
    "Clocks": "clocks 1 *Clock",
    "Clock": "clock_id 1 uint32, timestamp 2 uint64",
    "ProcessTree": "processes 1 *Process, threads 2 *Thread",
    "Process": "pid 1 int32, cmdline 3 *string",
    "Thread": "tid 1 int32, name 2 string, tgid 3 int32",
    "Track": "uuid 1 uint64, process 3 LabelledProcess",
    "LabelledProcess": "pid 1 int32, name 6 string, labels 8 *string",
    "HeapGraph": "pid 1 int32, objects 2 *Object, field_names 4 *Text, continued 5 bool, "
                 "index 6 uint64, roots 7 *Root, types 9 *Type",
    "Object": "id 1 uint64, type_id 2 uint64, self_size 3 uint64, names 4 +uint64, "
              "references 5 +uint64, base 6 uint64",
    "Type": "id 1 uint64, class_name 3 string, kind 7 uint32",
    "Root": "object_ids 1 +uint64, root_type 2 uint32",
    "Text": "iid 1 uint64, str 2 bytes",
    "Interned": "function_names 5 *Text, frames 6 *Frame, callstacks 7 *Callstack, "
                "mapping_paths 17 *Text, source_paths 18 *Text, mappings 19 *Mapping, "
                "contexts 51 *Context",
    "Frame": "iid 1 uint64, function 2 uint64, mapping 3 uint64, rel_pc 4 uint64, source 5 uint64, "
             "line 6 uint32",
    "Callstack": "iid 1 uint64, frames 2 *uint64",
    "Mapping": "iid 1 uint64, start 4 uint64, end 5 uint64, paths 7 *uint64",
    "Context": "iid 1 uint64, name 2 string, kind 3 string",
    "Defaults": "stacks 100 StackDefaults",
    "StackDefaults": "source 1 string",
    "PerfSample": "pid 2 uint32, tid 3 uint32, callstack 4 uint64",
    "StackSample": "task 1 Task, callstack 6 uint64",
    "Task": "pid 2 uint32, tid 3 uint32, async_id 4 uint64",
    "ProfilePacket": "dumps 5 *Dump, continued 6 bool, index 7 uint64",
    "Dump": "pid 1 uint64, samples 2 *Sample, timestamp 9 uint64, heap 11 string, every 12 uint64",
    "Sample": "callstack 1 uint64, allocated 2 uint64, freed 3 uint64, allocs 5 uint64, "
              "frees 6 uint64",
}


def declared():
    file = descriptor_pb2.FileDescriptorProto(name="trace.proto", package="t", syntax="proto2")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields.split(", "):
            field, number, kind = text.split()
            label = FIELD.LABEL_REPEATED if kind[0] in "*+" else FIELD.LABEL_OPTIONAL
            added = message.field.add(name=field, number=int(number), label=label)
            if kind[0] == "+":
                added.options.packed = True
            kind = kind.lstrip("*+")
            added.type = KINDS.get(kind, FIELD.TYPE_MESSAGE)
            if kind not in KINDS:
                added.type_name = f".t.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    trace = pool.FindMessageTypeByName("t.Trace")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(trace)
    return message_factory.MessageFactory(pool).GetPrototype(trace)


def unknown_fields(message):
    """Fields that this script does not declare: none is expected."""
    for field, value in message.ListFields():
        if field.type == FIELD.TYPE_MESSAGE:
            repeated = field.label == FIELD.LABEL_REPEATED
            for one in value if repeated else [value]:
                yield from unknown_fields(one)
    again = type(message)()
    again.CopyFrom(message)
    again.DiscardUnknownFields()
    if again.ByteSize() != message.ByteSize():
        yield type(message).__name__


class Heap:
    def __init__(self):
        self.objects, self.types, self.names, self.roots, self.next = {}, {}, {}, [], 0

    def add(self, graph):
        assert graph.index == self.next, "a packet is missing"
        self.next += 1
        for one in graph.objects:
            assert one.id not in self.objects and one.id != 0
            assert len(one.names) == len(one.references)
            assert all(one.references), "a reference to nothing"
            self.objects[one.id] = (one.type_id, one.self_size, list(one.names),
                                    [one.base + to for to in one.references])
        self.types.update({one.id: one.class_name for one in graph.types})
        self.names.update({one.iid: one.str.decode() for one in graph.field_names})
        self.roots.extend(graph.roots)

    def show(self, packet):
        rows = collections.Counter(), collections.Counter()
        reached, waiting = set(), [one for root in self.roots for one in root.object_ids]
        while waiting:
            at = waiting.pop()
            if at not in reached:
                reached.add(at)
                waiting.extend(self.objects[at][3])
        for kind, size, names, _ in self.objects.values():
            assert all(" " not in self.names[name] for name in names)
            rows[0][self.types[kind]] += 1
            rows[1][self.types[kind]] += size
        of_roots = {self.types[self.objects[one][0]] for root in self.roots
                    for one in root.object_ids}
        own = [name for name in rows[0] if name not in of_roots]
        print("heap", packet.timestamp, packet.heap_graph.pid, sum(rows[0][one] for one in own),
              sum(rows[1][one] for one in own), len(self.objects) - len(reached), sep="\t")
        for name in own:
            print("type", rows[0][name], rows[1][name], name, sep="\t")
        for root in self.roots:
            for one in root.object_ids:
                kind, size, names, _ = self.objects[one]
                assert size == 0
                print("root", root.root_type, self.types[kind],
                      " ".join(sorted(self.names[name] for name in names)), sep="\t")


class Names:
    def __init__(self, interned):
        texts = {one.iid: one.str.decode() for one in interned.function_names}
        mappings = {one.iid for one in interned.mappings}
        assert all(one.mapping in mappings for one in interned.frames)
        frames = {one.iid: texts[one.function] for one in interned.frames}
        self.stacks = {one.iid: [frames[frame] for frame in one.frames]
                       for one in interned.callstacks}
        self.contexts = {one.iid: one.name for one in interned.contexts}

    def shown(self, stack):
        return ";".join(self.stacks[stack])


def show_profile(profile, names, index):
    assert profile.index == index, "a dump is missing"
    for dump in profile.dumps:
        sums = [sum(getattr(one, key) for one in dump.samples)
                for key in ("allocs", "allocated", "frees", "freed")]
        print("dump", dump.timestamp, *sums, sep="\t")
        for one in dump.samples:
            print("site", one.allocs, one.allocated, one.frees, one.freed,
                  names.shown(one.callstack), sep="\t")


def main(file):
    trace = declared()()
    with open(file, "rb") as opened:
        data = opened.read()
    trace.ParseFromString(data)
    # This library reads numbers packed or not; the importer only as they are declared.
    assert trace.ByteSize() == len(data), "numbers are packed that should not be, or the reverse"
    assert not set(unknown_fields(trace)), set(unknown_fields(trace))
    clocks = [packet for packet in trace.packet if packet.HasField("clock_snapshot")]
    assert len(clocks) == 1, "clocks that go backwards are refused, so there is one time only"
    heaps, names, dumps, threads = {}, {}, collections.Counter(), {}
    for packet in trace.packet:
        sequence = packet.sequence
        assert sequence > 1
        for thread in packet.process_tree.threads:
            threads[thread.tid] = thread.name
        for label in packet.track.process.labels:
            print("label", packet.track.process.pid, label, sep="\t")
        if packet.flags == 1:
            names[sequence] = Names(packet.interned)
        if packet.HasField("heap_graph"):
            heap = heaps.setdefault(sequence, Heap())
            heap.add(packet.heap_graph)
            if not packet.heap_graph.continued:
                heaps.pop(sequence).show(packet)
        if packet.HasField("perf_sample"):
            sample = packet.perf_sample
            assert packet.flags == 2
            print("stack", "thread", threads[sample.tid], names[sequence].shown(sample.callstack),
                  sep="\t")
        if packet.HasField("stack_sample"):
            sample = packet.stack_sample
            print("stack", "fiber", names[sequence].contexts[sample.task.async_id],
                  names[sequence].shown(sample.callstack), sep="\t")
        if packet.HasField("profile"):
            show_profile(packet.profile, names[sequence], dumps[sequence])
            dumps[sequence] += 1
    assert not heaps, "a heap without an end"


main(sys.argv[1])
