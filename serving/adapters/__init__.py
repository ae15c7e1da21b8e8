"""Consumers of alarms, one module each, behind the protocol `serving.adapters.base.Adapter`."""
