"""Tables of who may do what, and of who did it: tokens, the audit log, answers kept for who asks again."""

from typing import Final

from sqlalchemy import Column, Index, Integer, String, Table, Text

from serving.tables import UtcTime, metadata

__all__ = ["audit", "idempotency", "metadata", "tokens"]

tokens: Final = Table(
    "tokens",
    metadata,
    Column("token_id", String(32), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scope", String(20), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("created_by", String(200), nullable=False),
    Column("expires_at", UtcTime),
    Column("revoked_at", UtcTime),
    Column("revoked_by", String(200)),
    Column("site", String(255)),
    Column("device", String(255)),
    Index("ix_tokens_name", "name"),
)

audit: Final = Table(
    "audit",
    metadata,
    Column("audit_id", Integer, primary_key=True),
    Column("at", UtcTime, nullable=False),
    Column("who", String(200), nullable=False),
    Column("token_id", String(32)),
    Column("address", String(100)),
    Column("what", String(200), nullable=False),
    Column("subject", String(500), nullable=False),
    Column("outcome", String(100), nullable=False),
    Index("ix_audit_at", "at"),
)

idempotency: Final = Table(
    "idempotency",
    metadata,
    Column("who", String(200), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("request", String(64), nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("status", Integer, nullable=False),
    Column("etag", String(100)),
    Column("body", Text, nullable=False),
    Index("ix_idempotency_at", "at"),
)
