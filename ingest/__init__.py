"""SNMP, gNMI and file collectors, the canonical tables and the lake they are kept in."""
