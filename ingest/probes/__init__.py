"""Probes between hosts: the packet, the agent that sends and answers it, and what becomes rows of ``probes``.

The agent imports nothing but the standard library: it runs on hosts whose processors belong to a job.
"""
