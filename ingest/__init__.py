"""From devices and exports to the canonical tables of the lake.

* ``schema``, ``units``, ``errors``, ``config``: the canonical tables, conversions, the error tree, forelight.toml
* ``snmp``: asking a device; two engines behind one protocol
* ``decode``: from its cells to readings, by vendor files
* ``collect``: polls, sweeps, installations and links as they stand, the spool, the status
* ``exports``: an operator's export, in and out; with ``inventory``, ``tickets``, ``replacements`` and ``quarantine``
* ``lake``: Delta tables over Parquet, and their upkeep
"""
