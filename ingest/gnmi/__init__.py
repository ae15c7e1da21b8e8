"""gNMI: what a device streams or answers once, over the published protocol, into the rows that SNMP polls give too."""
