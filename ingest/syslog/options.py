"""`[syslog]` of forelight.toml: where devices send their messages to, and how much is taken of them."""

from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ingest.utc import zone_name

__all__ = ["SyslogOptions"]

_Port = Annotated[int, Field(ge=1, le=65_535)]
_LEAST_BYTES: Final = 480  # that every receiver takes (RFC 5424, 6.1)


class SyslogOptions(BaseModel):
    """Where to listen; who may send is the firewall's affair, for syslog knows no senders.

    Attributes:
        host: to listen on; this machine alone by default.
        udp_port, tcp_port: one of them at least.
        zone: of times that name none, and RFC 3164 names none; without it such a message has the time of its receipt.
        max_message_bytes: what is longer is cut off.
        max_waiting: events that wait for the next sweep; what comes beyond is dropped and counted.
        max_connections: over TCP at a time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    udp_port: _Port | None = None
    tcp_port: _Port | None = None
    zone: Annotated[str, AfterValidator(zone_name)] | None = None
    max_message_bytes: Annotated[int, Field(ge=_LEAST_BYTES, le=65_536)] = 8_192
    max_waiting: Annotated[int, Field(ge=1, le=1_000_000)] = 50_000
    max_connections: Annotated[int, Field(ge=1, le=10_000)] = 256

    @model_validator(mode="after")
    def _listens(self) -> Self:
        if self.udp_port is None and self.tcp_port is None:
            msg = "needs udp_port or tcp_port"
            raise ValueError(msg)
        return self
