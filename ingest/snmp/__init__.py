"""Asking devices over SNMP: the transport protocol, two engines behind it, users, and why one is silent."""
