"""NVSentinel's health events on the wire: names, numbers and types of the fields of its `health_event.proto`.

They are given here as data, so that nothing is generated and no generator's version matters; what a field means is in
NVSentinel's documents. Fields that forelight does not set (overrides) are left out: a receiver reads them as empty.
"""

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, empty_pb2, message_factory, timestamp_pb2

__all__ = ["METHOD", "Empty", "Entity", "HealthEvent", "HealthEvents"]

METHOD: Final = "/datamodels.PlatformConnector/HealthEventOccurredV1"

_PACKAGE: Final = "datamodels"
_ENUMS: Final = {
    "ProcessingStrategy": {"UNSPECIFIED": 0, "EXECUTE_REMEDIATION": 1, "STORE_ONLY": 2},
    "RecommendedAction": {"NONE": 0, "COMPONENT_RESET": 2, "CONTACT_SUPPORT": 5, "RUN_FIELDDIAG": 6, "UNKNOWN": 99},
}
_MESSAGES: Final = {
    "Entity": ("entityType 1 string", "entityValue 2 string"),
    "MetadataEntry": ("key 1 string", "value 2 string"),
    "HealthEvent": (
        "version 1 uint32",
        "agent 2 string",
        "componentClass 3 string",
        "checkName 4 string",
        "isFatal 5 bool",
        "isHealthy 6 bool",
        "message 7 string",
        "recommendedAction 8 RecommendedAction",
        "errorCode 9 string repeated",
        "entitiesImpacted 10 Entity repeated",
        "metadata 11 HealthEvent.MetadataEntry repeated",
        "generatedTimestamp 12 google.protobuf.Timestamp",
        "nodeName 13 string",
        "processingStrategy 16 ProcessingStrategy",
    ),
    "HealthEvents": ("version 1 uint32", "events 2 HealthEvent repeated"),
}
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = {"string": _Field.TYPE_STRING, "bool": _Field.TYPE_BOOL, "uint32": _Field.TYPE_UINT32}


def _file() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="forelight/nvsentinel.proto", package=_PACKAGE, syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    for name, values in _ENUMS.items():
        enum = file.enum_type.add(name=name)
        for word, number in values.items():
            enum.value.add(name=word, number=number)
    for name in ("Entity", "HealthEvent", "HealthEvents"):
        _fill(file.message_type.add(name=name), _MESSAGES[name])
    entry = file.message_type[1].nested_type.add(name="MetadataEntry")
    _fill(entry, _MESSAGES["MetadataEntry"])
    entry.options.map_entry = True
    return file


def _fill(message: Any, fields: tuple[str, ...]) -> None:
    for field in fields:
        name, number, kind, *repeated = field.split()
        label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
        added = message.field.add(name=name, number=int(number), label=label)
        if kind in _SCALARS:
            added.type = _SCALARS[kind]
            continue
        added.type = _Field.TYPE_ENUM if kind in _ENUMS else _Field.TYPE_MESSAGE
        added.type_name = f".{kind}" if kind.startswith("google.") else f".{_PACKAGE}.{kind}"


def _classes() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(_file())
    names = ("Entity", "HealthEvent", "HealthEvents")
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in names}


_made: Final = _classes()
Entity: Final = _made["Entity"]
HealthEvent: Final = _made["HealthEvent"]
HealthEvents: Final = _made["HealthEvents"]
Empty: Final = empty_pb2.Empty
