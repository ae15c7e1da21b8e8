"""The agent of a host: reads its own ports and pushes samples; nothing here imports a library that makes tables."""
