"""Network evidence around the optic: is it the optic, the fibre, the switch, the host, or is the network innocent?

This layer stands between ``models`` (whose calibrated risks are its priors) and ``serving`` (which shows its verdicts).
Each part reads canonical tables and is a pure analysis function.

* fabric    ``fabric``: directed links and the paths between devices; ``ways`` and ``traces``: those that packets took
* probing   ``plan`` and ``pinglists``: who probes whom
* a window  ``windows`` judges one: ``hosts`` first, then ``trips``, ``queues``, ``holes``, then links.
            ``observations`` is what localisers are given, ``localize`` what they answer, ``localizers`` are the ways
            to it; ``tracking`` over windows
* answers   ``verdict``, from ``reading`` (the question and what the lake knows), ``probes``, ``readings``, ``parts``,
            ``innocence``; ``sla``, ``heatmap``

PFC provenance, collective delay matrices, training steps from flows and microsecond gaps are not here yet.
"""
