"""Network evidence around the optic: is it the optic, the fibre, the switch, the host, or is the network innocent?

This layer stands between ``models`` (whose calibrated risks are its priors) and ``serving``
(which shows its verdicts). Each part reads canonical tables and is a pure analysis function:

* ``fabric``        directed links and the paths between devices
* ``observations``  what a closed window saw: the contract between windows and localisers
* ``localize``      which directed link loses packets; ``localizers`` are the ways to find it

PFC provenance, collective delay matrices, training steps from flows and microsecond gaps are not here yet.
"""
