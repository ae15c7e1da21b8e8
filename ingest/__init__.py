"""From devices and files to the canonical tables of the lake.

Each room takes one kind of source and gives rows of ``schema``; `ingest.lake` is the only one that writes tables.

* ``snmp``, ``gnmi``      asking a device; hearing what it streams
* ``decode``              from its cells to readings, by vendor files; what may be believed
* ``collect``             sweeps day and night: installations, links, the spool, the status
* ``agent``, ``probes``   on hosts: readings of their own ports; probes of the network between them
* ``syslog``              messages, heard or read from files
* ``exports``             an operator's export, in and out; ``inventory`` and ``tickets`` read the tables beside its
                          telemetry
* ``dumps``, ``records``  what people have already: printed by tools; tickets, cables, calendars
* ``lake``, ``schema``    Delta tables over Parquet and their upkeep; each column's type, unit and meaning

What several of them need: ``config`` (forelight.toml), ``toml_file``, ``secret``, ``errors`` (the tree of them all),
``units``, ``utc``, ``plain`` (names without tricks), ``ports`` (which one is meant), ``quarantine`` (what was not
taken), ``replacements`` (the ledger), ``durable`` (whole files).
"""
