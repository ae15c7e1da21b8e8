"""Syslog as it is read from files and heard over UDP and TCP, into ``port_events``."""
