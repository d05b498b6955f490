# SPDX-License-Identifier: MIT
"""OTLP messages of profiles (v1development), by the classes of PyPI's opentelemetry-proto: the rules
that profcheck, OpenTelemetry's own checker (in no package registry), holds them to, and those that
receivers need beyond them."""
import collections
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import pinned

sys.path.insert(0, pinned.python_packages())
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2

# What a field that is an index, or a list of them, is one of.
TABLES = {"stack_index": "stack_table", "location_indices": "location_table",
          "mapping_index": "mapping_table", "function_index": "function_table",
          "link_index": "link_table", "attribute_indices": "attribute_table"}
FRAME_TYPES = {"native", "kernel", "cpython", "v8js", "jvm", "ruby"}
NOT_NEGATIVE = {"Line": ("line", "column"), "Function": ("start_line",)}


def table_of(field):
    return "string_table" if field.endswith("_strindex") else TABLES.get(field)


def parse(data):
    request = profiles_service_pb2.ExportProfilesServiceRequest()
    request.ParseFromString(data)
    return request


def messages(message):
    """It, and all that are in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type:
            for part in value if hasattr(value, "append") else [value]:
                yield from messages(part)


def profiles_of(request):
    for resource in request.resource_profiles:
        for scope in resource.scope_profiles:
            for profile in scope.profiles:
                yield resource, profile


def index_problems(request, used):
    """Indices that there are not; @used gets the others, by table."""
    d = request.dictionary
    for message in messages(request):
        if len(UnknownFieldSet(message)):
            yield f"{message.DESCRIPTOR.name} has unknown fields"
        for field, value in message.ListFields():
            if not (table := table_of(field.name)):
                continue
            for index in value if hasattr(value, "append") else [value]:
                used[table].add(index)
                if not 0 <= index < len(getattr(d, table)):
                    yield f"{message.DESCRIPTOR.name}.{field.name} is {index}"


def unused_problems(request, used):
    for table in set(TABLES.values()) | {"string_table"}:
        if unused := set(range(1, len(getattr(request.dictionary, table)))) - used[table]:
            yield f"{table}: nothing refers to {sorted(unused)[:3]}"


def table_problems(request):
    for field, table in request.dictionary.ListFields():
        if table[0] != ("" if field.name == "string_table" else type(table[0])()):
            yield f"{field.name}: entry 0 is {table[0]}"
        entries = [e if isinstance(e, str) else e.SerializeToString() for e in table]
        if len(set(entries)) < len(entries):
            yield f"{field.name} has something twice"
    if len(request.dictionary.ListFields()) != 7:
        yield "a table is missing"


def entry_problems(request):
    d = request.dictionary
    for m in d.mapping_table:
        if not m.memory_start < m.memory_limit and (m.memory_start or m.memory_limit):
            yield f"a mapping from {m.memory_start:#x} to {m.memory_limit:#x}"
    for link in d.link_table[1:]:
        if len(link.trace_id) != 16 or len(link.span_id) != 8:
            yield "a link of other lengths"
    for message in messages(d):
        for name in NOT_NEGATIVE.get(message.DESCRIPTOR.name, ()):
            if getattr(message, name) < 0:
                yield f"{name} {getattr(message, name)}"
        keys = [d.attribute_table[i].key_strindex for i in getattr(message, "attribute_indices", ())]
        if len(set(keys)) < len(keys):
            yield f"{message.DESCRIPTOR.name}: a key twice"
    for location in d.location_table[1:]:
        if attributes_of(request, location).get("profile.frame.type") not in FRAME_TYPES:
            yield f"a location of type {attributes_of(request, location)}"


def attributes_of(request, message):
    d = request.dictionary
    return {d.string_table[a.key_strindex]: getattr(a.value, a.value.WhichOneof("value"))
            for a in (d.attribute_table[i] for i in message.attribute_indices)}


def resource_problems(request):
    """Plain keys and texts, which every receiver reads."""
    if not request.resource_profiles:
        yield "no resource"
    for resource in request.resource_profiles:
        attributes = resource.resource.attributes
        names = [a.key for a in attributes]
        if "service.name" not in names or len(set(names)) < len(names):
            yield f"a resource with {names}"
        if any(a.key_strindex or a.value.WhichOneof("value") != "string_value" for a in attributes):
            yield "an attribute of a resource that is in the dictionary"
        if not resource.scope_profiles or not all(s.profiles for s in resource.scope_profiles):
            yield "a resource without a profile"


def service_of(resource):
    return next((a.value.string_value for a in resource.resource.attributes
                 if a.key == "service.name"), None)


def shape_of(sample):
    """None: it has no values that are any."""
    n, times = len(sample.values), len(sample.timestamps_unix_nano)
    if n == 1 and not times:
        return "one value"
    if times and n in (0, times):
        return "timestamps with values" if n else "timestamps"
    return None


def sample_problems(request):
    for resource, profile in profiles_of(request):
        shapes = {shape_of(s) for s in profile.samples}
        if None in shapes or len(shapes) > 1:
            yield f"samples with {shapes}"
        end = profile.time_unix_nano + profile.duration_nano
        keys = set()
        for s in profile.samples:
            keys.add((s.stack_index, frozenset(s.attribute_indices), s.link_index))
            if not all(profile.time_unix_nano <= t < end for t in s.timestamps_unix_nano):
                yield "a timestamp outside of the profile"
            attributes = attributes_of(request, s)
            if len(attributes) < len(s.attribute_indices):
                yield "a sample with a key twice"
            if attributes.get("service.name", "unknown_service") != service_of(resource):
                yield f"a sample of {attributes.get('service.name')} at {service_of(resource)}"
        if len(keys) < len(profile.samples):
            yield "samples that are equal"
        if profile.profile_id and len(profile.profile_id) != 16:
            yield f"a profile_id of {len(profile.profile_id)} bytes"


def problems(request, may_cancel=False):
    """@may_cancel: samples may add up to 0, which are left out, but not what they refer to."""
    used = collections.defaultdict(set)
    found = [*index_problems(request, used), *table_problems(request), *resource_problems(request)]
    yield from found
    if found:
        return  # the others follow indices
    if not may_cancel:
        yield from unused_problems(request, used)
    yield from entry_problems(request)
    yield from sample_problems(request)


def type_of(request, profile):
    text = request.dictionary.string_table
    return text[profile.sample_type.type_strindex], text[profile.sample_type.unit_strindex]


def totals_of(request):
    """{(type, unit): the sum over all services}"""
    found = collections.Counter()
    for _, profile in profiles_of(request):
        found[type_of(request, profile)] += sum(sum(s.values) for s in profile.samples)
    return dict(found)


def frames_of(request, sample):
    """(name, location) from the leaf on, with inlined functions; name: None where there is none."""
    d = request.dictionary
    for i in d.stack_table[sample.stack_index].location_indices:
        location = d.location_table[i]
        for line in location.lines:
            yield d.string_table[d.function_table[line.function_index].name_strindex], location
        if not location.lines:
            yield None, location


def functions_of(request, type_name, **attributes):
    """{name: [own, with what it calls]} of that type's values."""
    found = collections.defaultdict(lambda: [0, 0])
    for _, profile in profiles_of(request):
        if type_of(request, profile)[0] != type_name:
            continue
        for sample in profile.samples:
            if not attributes.items() <= attributes_of(request, sample).items():
                continue
            names = [name for name, _ in frames_of(request, sample)]
            if names:
                found[names[0]][0] += sum(sample.values)
            for name in set(names):
                found[name][1] += sum(sample.values)
    return dict(found)
