"""Collection day and night: polls, sweeps, what stands in the cages and between them, the spool, the status."""
